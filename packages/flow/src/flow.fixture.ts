import {
  type Agent,
  type AgentAction,
  type AgentInput,
  type Answers,
  defineTool,
  type ErrorInfo,
  type EventDraft,
  type Message,
  type ResumeInfo,
  type RunContext,
  say,
  stream,
  type Tool,
  type ToolMessage,
  textOf,
  type UserMessage,
} from '@troupe/kernel'
import { messageOf } from '@troupe/kernel/history'
import { type RunHost, type RunSettings, startRun } from '@troupe/kernel/run'
import { answersTo, type Recording, record } from '@troupe/testkit'

/** Makes an agent from one function. */
export const agentOf = (
  name: string,
  run: (ctx: RunContext, input: AgentInput) => AsyncIterable<EventDraft>,
): Agent => ({ name, description: `${name} runs.`, acceptsAdditions: true, run: (input, ctx) => run(ctx, input) })

/** An agent that always gives the same answer. */
export const talker = (name: string, text: string = `I am ${name}.`): Agent => agentOf(name, (ctx) => say(ctx, text))

/** An agent that works without a message. */
export const quiet = (name: string, work: (ctx: RunContext, input: AgentInput) => unknown): Agent =>
  agentOf(name, (ctx, input) => stream(async () => void (await work(ctx, input))))

/** An agent that says its name and yields actions itself, as an agent of a third party may. */
export const yielding = (name: string, ...actions: readonly AgentAction[]): Agent =>
  agentOf(name, async function* (ctx) {
    yield* say(ctx, name)
    for (const action of actions) yield { type: 'action', action }
  })

/** An agent that says something and transfers to another. */
export const transferring = (name: string, agentName: string): Agent =>
  yielding(name, { type: 'transfer-to-agent', agentName })

/** An agent that fails. */
export const failing = (name: string, error: Error = new Error(`${name} broke`)): Agent =>
  agentOf(name, () => {
    throw error
  })

/** A tool without arguments. */
export const tool = (
  name: string,
  invoke: NonNullable<Tool['invoke']> = () => `${name} done`,
  more: Partial<Tool> = {},
): Tool => defineTool({ name, description: name, parameters: { type: 'object' }, invoke, ...more })

/** A tool that asks a person. */
export const asking = (name = 'ask'): Tool =>
  tool(name, async (_, ctx) => `answered ${await ctx.interrupt({ reason: 'input', message: `${name}?` })}`)

/** A tool whose result comes from outside. */
export const slow = (name = 'slow'): Tool => tool(name, undefined, { longRunning: true })

/** A result that comes from outside. */
export const result = (callId: string, content = 'Later.'): ToolMessage => ({
  id: `${callId}-result`,
  role: 'tool',
  callId,
  name: callId,
  content,
})

/** A user message. */
export const user = (content = 'Hello', id = 'u1'): UserMessage => ({ id, role: 'user', content })

/** The input of most runs. */
export const hello: AgentInput = { messages: [user()] }

/** A promise that never settles. */
export const never: Promise<never> = new Promise(() => {})

/** Lets all pending work run that does not need outside events. */
export async function idle(): Promise<void> {
  for (let i = 0; i < 3; i++) await new Promise((resolve) => setImmediate(resolve))
}

/** The events of a run and what tests look at. */
export interface RecordedRun extends Recording {
  readonly errors: readonly ErrorInfo[]
  readonly actions: readonly AgentAction[]
  /** `agent: text` of every message and result. */
  readonly said: readonly string[]
  /** The paths of the agents that ran, in order. */
  readonly turns: readonly string[]
  /** The history after the run. */
  readonly history: readonly Message[]
  /** Makes the input that resumes the run; its answers are by the call that asks. Contract: its state has been through JSON. */
  resume(answers?: Answers, ...results: readonly ToolMessage[]): ResumeInfo
}

/** Runs an agent, with questions allowed, and reads the run to its end. */
export async function runToEnd(
  agent: Agent,
  input: AgentInput | ResumeInfo = hello,
  { cancelling, ...settings }: RunSettings & Pick<RunHost, 'cancelling'> = {},
): Promise<RecordedRun> {
  const host = cancelling && { cancelling }
  const recording = await record(startRun(agent, input, { runId: 'R', canInterrupt: true, ...settings }, host))
  const own = recording.events.filter((event) => event.parentCallId === undefined)
  const history = [...input.messages, ...own.flatMap((event) => messageOf(event) ?? [])]
  const actions = own.flatMap((event) => (event.type === 'action' ? [event.action] : []))
  const asked = actions.findLast((action) => action.type === 'interrupt')
  return {
    ...recording,
    errors: own.flatMap((event) => (event.type === 'error' ? [event.error] : [])),
    actions,
    said: textsOf(history.slice(input.messages.length)),
    turns: own.flatMap((event) =>
      event.type === 'agent-start' ? [[...event.runPath, event.agentName].join('/')] : [],
    ),
    history,
    resume: (answers = {}, ...results) => ({
      messages: [...history, ...results],
      state: JSON.parse(JSON.stringify(asked?.state ?? null)),
      answers: answersTo(recording.end?.interrupts, answers),
    }),
  }
}

/** `agent: text` of messages; calls are `agent: name(arguments)`. */
export function textsOf(messages: readonly Message[]): string[] {
  return messages.map((message) => {
    const who = message.role === 'assistant' || message.role === 'tool' ? message.agentName : message.role
    const calls = message.role === 'assistant' ? (message.toolCalls ?? []) : []
    return [`${who}:`, textOf(message.content), ...calls.map((call) => `${call.name}(${call.arguments})`)]
      .filter((text) => text !== '')
      .join(' ')
  })
}

/** The code and the message of the error that a function throws. */
export function thrownBy(work: () => unknown): string {
  try {
    work()
  } catch (error) {
    const { code, message } = error as { readonly code?: string; readonly message: string }
    return `${code} ${message}`
  }
  return 'nothing'
}
