import { type ChatModelAgentOptions, chatModelAgent } from '@troupe/chat-model'
import { type FlowRunner, type RunnerOptions, runner } from '@troupe/flow'
import {
  type Agent,
  type AgentEvent,
  type Answers,
  type AssistantMessage,
  type Json,
  KernelError,
  type Message,
  type Run,
  type Schema,
  type Store,
  type Thread,
  type ThreadRef,
  type ToolMessage,
} from '@troupe/kernel'
import { memoryStore } from '@troupe/kernel/memory-store'
import { record, type ScriptedCall, type ScriptedModel, scriptedModel } from '@troupe/testkit'
import { unpaired } from './history-faults.fixture.ts'
import { type RecordedRun, recordedRun, twice, watched } from './recorded-run.fixture.ts'

export const ANN: ThreadRef = { app: 'test', user: 'ann', threadId: 't' }

type Script = Parameters<typeof scriptedModel>[0]
type Extras = Partial<Omit<ChatModelAgentOptions, 'name' | 'model'>>

/** Options of a scripted tree. */
export interface ScriptedTreeOptions<Name extends string> {
  /** Options of single agents. */
  readonly with?: { readonly [K in Name]?: Extras }
  readonly runner?: Partial<RunnerOptions>
  /** Sees every event of a run before the next one. */
  readonly onEvent?: (event: AgentEvent, index: number) => void
}

/** A tree of chat agents, one scripted model each, on one thread. */
export interface ScriptedTree<Name extends string> {
  readonly models: Readonly<Record<Name, ScriptedModel>>
  readonly runner: FlowRunner
  readonly store: Store
  ask(text: string): Promise<RecordedRun>
  answer(answers: Answers): Promise<RecordedRun>
  /** Answers every open question the same way. */
  answerAll(answer: Json): Promise<RecordedRun>
  give(...messages: readonly Message[]): Promise<RecordedRun>
  /** Brings results of open calls, by the names of their tools. */
  results(contents: { readonly [tool: string]: string }): Promise<RecordedRun>
  /** The tools whose results are awaited. */
  awaited(): Promise<readonly string[]>
  read(run: AsyncIterable<AgentEvent>): Promise<RecordedRun>
  thread(): Promise<Thread | undefined>
  history(): Promise<readonly Message[]>
  /** Continues with a new store that holds the stored thread as JSON, a new tree and a new runner. */
  move(): Promise<void>
}

/**
 * Builds a tree of chat agents with scripted models.
 * Contract: after each run it checks that every model was given a sound history, that no call started or ended twice, and that the run ended once.
 */
export function scriptedTree<const Name extends string>(
  scripts: Readonly<Record<Name, Script>>,
  build: (agents: Readonly<Record<Name, Agent>>) => Agent,
  options: ScriptedTreeOptions<Name> = {},
): ScriptedTree<Name> {
  const names = Object.keys(scripts) as Name[]
  const models = Object.fromEntries(names.map((name) => [name, scriptedModel(scripts[name], { name })])) as Record<
    Name,
    ScriptedModel
  >
  const agent = (name: Name) =>
    chatModelAgent<Schema>({
      name,
      description: `${name} helps.`,
      model: models[name],
      retry: false,
      ...options.with?.[name],
    })
  const open = (store: Store) =>
    runner({
      agent: build(Object.fromEntries(names.map((name) => [name, agent(name)])) as Record<Name, Agent>),
      store,
      ...options.runner,
    })
  let store: Store = memoryStore()
  let current = open(store)
  const seen: AgentEvent[] = []
  const session = { session: ANN }
  const thread = () => store.threads.get(ANN)
  const history = async () => (await store.threads.messages(ANN, { limit: 1_000 })).map(({ message }) => message)

  const read = async (run: Run): Promise<RecordedRun> => {
    const recording = await record(options.onEvent ? watched(run, options.onEvent) : run)
    seen.push(...recording.events)
    const wrong = [
      ...names.flatMap((name) => models[name].requests.flatMap(({ messages }) => unpaired(messages))),
      ...twice(seen),
      ...(recording.events.filter(({ type, parentCallId }) => type === 'run-end' && !parentCallId).length === 1
        ? []
        : ['not one run-end']),
    ]
    if (wrong.length > 0) throw new Error(wrong.join('; '))
    return recordedRun(recording)
  }
  const give = (...messages: readonly Message[]) => read(current.run({ messages }, session))
  const answer = (answers: Answers) => read(current.resume(answers, session))

  return {
    models,
    get runner() {
      return current
    },
    get store() {
      return store
    },
    ask: (text) => read(current.query(text, session)),
    answer,
    async answerAll(given) {
      const { checkpoint } = (await thread()) ?? {}
      return answer(Object.fromEntries((checkpoint?.interrupts ?? []).map(({ id }) => [id, given])))
    },
    give,
    async results(contents) {
      const { openCalls = [] } = (await thread()) ?? {}
      const open = openCalls.filter(({ name }) => contents[name] !== undefined)
      return give(...open.map(({ callId, name }) => ({ ...resultOf(callId, contents[name]), name })))
    },
    awaited: async () => ((await thread())?.openCalls ?? []).map(({ name }) => name),
    read,
    thread,
    history,
    async move() {
      store = await copyOf(store)
      current = open(store)
    },
  }
}

/** Makes a store that holds only the stored thread, as JSON. */
export async function copyOf(store: Store): Promise<Store> {
  const { state, openCalls, checkpoint } = (await store.threads.get(ANN)) as Thread
  const messages = (await store.threads.messages(ANN, { limit: 1_000 })).map(({ runId, message }) => ({
    runId,
    message,
  }))
  const commit = { set: state, messages, openCalls, ...(checkpoint && { checkpoint }) }
  const copy = memoryStore()
  await copy.threads.open(ANN)
  const { token } = await copy.leases.acquire(ANN, { runId: 'move', ttlMs: 1_000 })
  await copy.threads.commit(ANN, JSON.parse(JSON.stringify(commit)), token)
  await copy.leases.release(ANN, token)
  return copy
}

/** A turn that transfers. */
export const toAgent = (name: string): { readonly toolCalls: readonly ScriptedCall[] } => calling(transferTo(name))

/** A call that transfers. */
export const transferTo = (name: string): ScriptedCall => ({
  name: 'transfer_to_agent',
  arguments: { agent_name: name },
})

/** A turn of calls: a name stands for a call without arguments; the ids are the names. */
export const calling = (
  ...calls: readonly (string | ScriptedCall)[]
): { readonly toolCalls: readonly ScriptedCall[] } => ({
  toolCalls: calls.map((call) => (typeof call === 'string' ? { id: call, name: call } : { id: call.name, ...call })),
})

/** A result that comes from outside. */
export const resultOf = (callId: string, content: string = `result ${callId}`): ToolMessage => ({
  id: `${callId}/result`,
  role: 'tool',
  callId,
  name: callId,
  content,
})

/** One readable line per message. */
export const brief = (messages: readonly Message[] = []): string[] =>
  messages.map((message) => {
    const text = typeof message.content === 'string' ? message.content : contentOf(message)
    const calls = message.role === 'assistant' ? callsOf(message) : []
    const who = message.role === 'tool' ? [`tool ${message.name}:`] : [message.role]
    return [...who, text, ...calls].filter((part) => part !== '').join(' ')
  })

function callsOf({ toolCalls = [] }: AssistantMessage): string[] {
  return toolCalls.map((call) => `${call.name}(${call.arguments})`)
}

function contentOf({ content }: Message): string {
  if (typeof content === 'string') return content
  return content.map((part) => (part.type === 'text' ? part.text : `<${part.type}>`)).join('')
}

/** The lines of a transfer that other agents see. */
export const contextOfTransfer = (from: string, to: string): readonly string[] => [
  `user For context: [${from}] called tool: \`transfer_to_agent\` with arguments: {"agent_name":"${to}"}.`,
  `user For context: [${from}] \`transfer_to_agent\` tool returned result: successfully transferred to agent [${to}].`,
]

/** The lines of a transfer that the agent itself sees. */
export const ownTransfer = (to: string): readonly string[] => [
  `assistant transfer_to_agent({"agent_name":"${to}"})`,
  `tool transfer_to_agent: successfully transferred to agent [${to}]`,
]

/** How an awaited run settles: its text, or the code of its error. */
export const settled = (run: PromiseLike<{ readonly text: string }>): Promise<string> =>
  Promise.resolve(run).then(
    ({ text }) => text,
    (error: unknown) => (KernelError.is(error) ? error.code : `foreign: ${String(error)}`),
  )
