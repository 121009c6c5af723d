import {
  type Agent,
  type AgentAction,
  type AgentEvent,
  type AgentInput,
  type Answers,
  type EventDraft,
  type Interrupt,
  type Json,
  type Message,
  type ResumeInfo,
  type RunContext,
  type Sink,
  say,
  stream,
  type Tool,
  type ToolCall,
  type ToolMeta,
} from '@troupe/kernel'
import { messageOf, openCalls } from '@troupe/kernel/history'
import { parseArguments, pipe, toolResult } from '@troupe/kernel/kit'
import { jsonSchemaValidator } from '@troupe/testkit'

/** One step of a scripted agent: say something, call tools, or fail. */
type ScriptLine = string | readonly (string | CallWithArgs)[] | Error
/** A call with arguments. */
interface CallWithArgs {
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

/** The script line of a transfer with the tool. */
export const transfer = (agentName: string): readonly CallWithArgs[] => [
  { name: 'transfer_to_agent', args: { agent_name: agentName } },
]
