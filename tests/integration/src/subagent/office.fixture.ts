import { type ChatModelAgentOptions, chatModelAgent } from '@troupe/chat-model'
import { type FlowRunner, runner } from '@troupe/flow'
import type { AgentEvent, Answers, EventOf, KernelError, Run, Store, Thread, ThreadRef, Tool } from '@troupe/kernel'
import { defineTool } from '@troupe/kernel'
import { memoryStore } from '@troupe/kernel/memory-store'
import { type AgentOptions, AgentRegistry, type AgentRegistryOptions, type SubagentStatus } from '@troupe/subagent'
import { type ScriptedCall, type ScriptedTurn, scriptedModel } from '@troupe/testkit'

const ANN: ThreadRef = { app: 'office', user: 'ann', threadId: 't' }
type Script = Parameters<typeof scriptedModel>[0]

/** The recording of one run. */
export interface RunRecording {
  readonly events: readonly AgentEvent[]
  readonly end: EventOf<'run-end'> | undefined
  readonly asked: readonly string[]
  readonly statuses: readonly SubagentStatus[]
  /** The error events of all agents. */
  readonly errors: readonly string[]
}

export interface Office {
  readonly runner: FlowRunner
  readonly models: { readonly [name: string]: ReturnType<typeof scriptedModel> }
  readonly reports: readonly KernelError[]
  ask(): Promise<RunRecording>
  answer(answers: Answers): Promise<RunRecording>
  /** Continues as in another process: with a copy of the store as JSON, new agents and a new runner. */
  move(): Promise<void>
}

export interface OfficeOptions extends Partial<AgentRegistryOptions> {
  readonly agents: readonly AgentOptions[]
  readonly scripts: { readonly [name: string]: Script }
  readonly lead?: Partial<ChatModelAgentOptions>
  readonly onEvent?: (event: AgentEvent, office: Office) => void
}

/** Builds a lead agent and its sub-agents on one thread of a real runner, each with a scripted model. */
export function office({ agents, scripts, lead, onEvent, ...options }: OfficeOptions): Office {
  const models = Object.fromEntries(
    Object.entries(scripts).map(([name, script]) => [name, scriptedModel(script, { name })]),
  )
  const modelOf = (name: string) => models[name] ?? scriptedModel([])
  const reports: KernelError[] = []
  const open = (store: Store) => {
    const registry = new AgentRegistry({
      factory: (spec) => chatModelAgent({ ...spec, model: modelOf(spec.name), retry: false }),
      model: scriptedModel([]),
      report: (error) => void reports.push(error),
      ...options,
    })
    for (const agent of agents) registry.registerAgent(agent)
    const tools = registry.tools()
    return runner({
      agent: chatModelAgent({ name: 'lead', model: modelOf('lead'), tools, retry: false, ...lead }),
      store,
    })
  }
  let store: Store = memoryStore()
  let current = open(store)
  const collect = async (run: Run): Promise<RunRecording> => {
    const events: AgentEvent[] = []
    for await (const event of run.eventsWithoutThrowing()) {
      events.push(event)
      onEvent?.(event, self)
    }
    const last = events.at(-1)
    const end = last?.type === 'run-end' ? last : undefined
    const results = events.filter(
      (event): event is EventOf<'tool-end'> => event.type === 'tool-end' && event.parentCallId === undefined,
    )
    return {
      events,
      end,
      asked: (end?.interrupts ?? []).map(({ id }) => id),
      statuses: results.flatMap(({ data }) => (data ? [data as unknown as SubagentStatus] : [])),
      errors: events.flatMap((event) => (event.type === 'error' ? [`${event.agentName} ${event.error.code}`] : [])),
    }
  }
  const self: Office = {
    models,
    reports,
    get runner() {
      return current
    },
    ask: () => collect(current.query('Go.', { session: ANN })),
    answer: (answers) => collect(current.resume(answers, { session: ANN })),
    async move() {
      store = await copyOf(store)
      current = open(store)
    },
  }
  return self
}

export { ANN }

async function copyOf(store: Store): Promise<Store> {
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

/** Defines an agent with one text as input. */
export const agent = (name: string, more: Partial<AgentOptions> = {}): AgentOptions => ({
  name,
  description: `${name} helps.`,
  input: { inputs: { task: { type: 'string', description: 'What to do', required: true } } },
  prompt: `You are ${name}.`,
  ...more,
})

/** A turn of calls: of agents by name with a task, of other tools as they are given. */
export const calling = (...calls: readonly (string | ScriptedCall)[]): Exclude<ScriptedTurn, string> => ({
  toolCalls: calls.map((call) =>
    typeof call === 'string' ? { name: call, arguments: { task: `Do ${call}.` } } : call,
  ),
})

/** A turn that submits a result. */
export const completing = (result = 'Found it.'): Exclude<ScriptedTurn, string> =>
  calling({ name: 'complete_task', arguments: { result } })

/** A tool that takes anything. */
export const tool = (name: string, more: Partial<Tool> = {}): Tool =>
  defineTool({
    name,
    description: name,
    parameters: { type: 'object' },
    kind: 'read',
    invoke: () => `${name} done`,
    ...more,
  } as Tool)
