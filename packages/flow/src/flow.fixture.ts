import {
  type Agent,
  type AgentAction,
  type AgentEvent,
  type AgentInput,
  type Answers,
  defineTool,
  type ErrorInfo,
  type EventDraft,
  type Interrupt,
  type Json,
  type Message,
  parseArguments,
  pipe,
  type ResumeInfo,
  type RunContext,
  type RunHost,
  type RunSettings,
  type Sink,
  say,
  stream,
  type Tool,
  type ToolCall,
  type ToolMessage,
  type ToolMeta,
  textOf,
  toolResult,
  type UserMessage,
} from '@troupe/kernel'
import { messageOf, openCalls } from '@troupe/kernel/history'
import { startRun } from '@troupe/kernel/run'
import { jsonSchemaValidator, type Recording, record } from '@troupe/testkit'

/** One step of a scripted agent: say something, call tools, or fail. */
export type ScriptLine = string | readonly (string | CallWithArgs)[] | Error
/** A call with arguments. */
export interface CallWithArgs {
  readonly name: string
  readonly args: Json
}

/** An agent that follows a script and keeps its inputs. */
export interface ScriptedAgent extends Agent {
  readonly inputs: readonly AgentInput[]
}

/** Makes an agent that follows a script with its own and added tools; the number of its messages in the history gives the next line. */
export function scriptedAgent(name: string, script: readonly ScriptLine[], ...tools: readonly Tool[]): ScriptedAgent {
  const inputs: AgentInput[] = []
  const run = (input: AgentInput, ctx: RunContext) => {
    inputs.push(input)
    return stream<EventDraft>((sink) => new ScriptRun(script, tools, input, ctx, sink).run())
  }
  return { name, description: `${name} acts.`, acceptsAdditions: true, inputs, run, resume: run }
}

/** The state of a scripted agent that waits. */
type Suspension = { readonly parked: { readonly [callId: string]: Json }; readonly answers: Answers }

class ScriptRun {
  readonly #script: readonly ScriptLine[]
  readonly #tools: ReadonlyMap<string, ToolMeta>
  readonly #ctx: RunContext
  readonly #sink: Sink<EventDraft>
  readonly #messages: Message[]
  #kept: Suspension | undefined

  constructor(
    script: readonly ScriptLine[],
    own: readonly Tool[],
    input: AgentInput,
    ctx: RunContext,
    sink: Sink<EventDraft>,
  ) {
    const metas = [...own.map((tool) => ({ tool, returnDirectly: false })), ...(input.additions?.tools ?? [])]
    this.#tools = new Map(metas.toReversed().map((meta) => [meta.tool.name, meta]))
    this.#script = script
    this.#ctx = ctx
    this.#sink = sink
    this.#messages = input.messages.slice()
    if ('answers' in input) {
      const { state, answers } = input as ResumeInfo
      this.#kept = { ...(state as Suspension), answers: { ...(state as Suspension).answers, ...answers } }
    }
  }

  async run(): Promise<void> {
    const open = openCalls(this.#messages)
    if (open.length > 0 && !(this.#kept && (await this.#runCalls(open)))) return
    for (;;) {
      const line = this.#script[this.#messageCount]
      if (line === undefined) return
      if (line instanceof Error) throw line
      if (typeof line === 'string') return pipe(say(this.#ctx, line), this.#sink)
      if (!(await this.#runCalls(await this.#call(line)))) return
    }
  }

  get #messageCount(): number {
    const { agentName } = this.#ctx
    return this.#messages.filter((message) => message.role === 'assistant' && message.agentName === agentName).length
  }

  async #emit(draft: EventDraft): Promise<void> {
    await this.#sink.write(draft)
    const { runId, agentName, runPath } = this.#ctx
    const message = messageOf({ runId, agentName, runPath, ...draft } as AgentEvent)
    if (message) this.#messages.push(message)
  }

  async #call(calls: readonly (string | CallWithArgs)[]): Promise<readonly ToolCall[]> {
    const id = this.#ctx.ids.next()
    const toolCalls = calls.map((call) => {
      const { name, args } = typeof call === 'string' ? { name: call, args: {} } : call
      return { id: this.#ctx.ids.call(name), name, arguments: JSON.stringify(args) }
    })
    await this.#emit({ type: 'message-start', messageId: id })
    await this.#emit({ type: 'message-end', message: { id, role: 'assistant', content: '', toolCalls } })
    for (const { id: callId, name, arguments: args } of toolCalls) {
      await this.#emit({ type: 'tool-start', callId, name, arguments: args })
    }
    return toolCalls
  }

  /** Runs calls in parallel; gives whether the script goes on. */
  async #runCalls(calls: readonly ToolCall[]): Promise<boolean> {
    const { agentName } = this.#ctx
    const interrupts: Interrupt[] = []
    const actions: AgentAction[] = []
    const parked: Record<string, Json> = {}
    const turn = this.#messageCount
    const one = async ({ id: callId, name, arguments: args }: ToolCall, index: number): Promise<boolean> => {
      const meta = this.#tools.get(name)
      if (!meta) throw new Error(`${agentName} has no tool ${name}`)
      const before = this.#kept?.parked[callId]
      if (meta.tool.longRunning || (this.#kept && before === undefined)) return false
      const ctx = this.#ctx.derive({
        step: `tool:${turn}:${index}`,
        call: {
          callId,
          ...(this.#kept && { answers: this.#kept.answers, saved: before ?? null }),
          onAction: (action) => void actions.push(action),
          onInterrupt(asked, saved = true) {
            interrupts.push(...asked)
            parked[callId] = saved
          },
        },
      })
      try {
        const parsed = await parseArguments(meta.tool, args, jsonSchemaValidator)
        const call = { name, arguments: args, callId, step: ctx.step, idempotencyKey: callId }
        const output = await meta.tool.invoke?.(parsed, ctx, call)
        const { direct = meta.returnDirectly, ...result } = toolResult(name, output)
        await this.#emit({ type: 'tool-end', callId, messageId: ctx.ids.next(), name, status: 'complete', ...result })
        return direct
      } catch (error) {
        if (parked[callId] === undefined) throw error
        return false
      }
    }
    const direct = await Promise.all(calls.map(one))
    const answers = this.#kept?.answers ?? {}
    this.#kept = undefined
    if (interrupts.length > 0) {
      await this.#emit({ type: 'action', action: { type: 'interrupt', interrupts, state: { parked, answers } } })
      return false
    }
    if (openCalls(this.#messages).length > 0) return false
    const action = actions.at(-1)
    if (action) await this.#emit({ type: 'action', action })
    return action === undefined && !direct.includes(true)
  }
}

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

/** The script line of a transfer with the tool. */
export const transfer = (agentName: string): readonly CallWithArgs[] => [
  { name: 'transfer_to_agent', args: { agent_name: agentName } },
]

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
  /** Makes the input that resumes the run. Contract: its state has been through JSON. */
  resume(answers?: Answers, ...results: readonly ToolMessage[]): ResumeInfo
}

/** Runs an agent, with questions allowed, and reads the run to its end. */
export async function runToEnd(
  agent: Agent,
  input: AgentInput | ResumeInfo = hello,
  settings: RunSettings & RunHost = {},
): Promise<RecordedRun> {
  const recording = await record(startRun(agent, input, { runId: 'R', canInterrupt: true, ...settings }))
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
      answers,
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
