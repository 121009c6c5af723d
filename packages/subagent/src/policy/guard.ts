import {
  KernelError,
  type Part,
  parseArguments,
  type RunContext,
  type Tool,
  type ToolCallInput,
  type ToolCallResult,
  type ToolOutput,
} from '@troupe/kernel'
import { validateJsonSchema } from '../define/validator.ts'
import { pauseLimits } from '../execute/ledger.ts'
import { type Approved, askApproval } from './approval.ts'
import { copyOf, jsonOf } from './arguments.ts'
import { placeOf, type Seat, Trail } from './audit.ts'
import type { MessageBus } from './bus.ts'
import type { Decision } from './decide.ts'
import { askLive } from './live-approval.ts'

/** Everything a guard needs to know. */
export interface Post {
  readonly tool: Tool
  readonly seat: Seat
  readonly path: readonly string[]
  readonly bus: MessageBus | undefined
  readonly askTimeoutMs: number
  decide(args: unknown): Decision
}

/** Leave to run with these arguments, or what the model is told instead. */
type Leave = { readonly args: unknown; readonly call: ToolCallInput } | { readonly refusal: ToolCallResult }

/** Stands before one tool of one agent. */
export class Guard {
  readonly #post: Post

  constructor(post: Post) {
    this.#post = post
  }

  /** Whether a call may run at once, with nobody to ask and nobody to tell. */
  waves(args: unknown): boolean {
    const { tool, bus } = this.#post
    return !tool.needsApproval && !bus?.listeners('audit') && this.#post.decide(args).effect === 'allow'
  }

  async invoke(args: unknown, ctx: RunContext, call: ToolCallInput): Promise<ToolOutput | void> {
    const { tool } = this.#post
    const trail = this.#trail(ctx, call)
    try {
      const leave = await this.#admit(args, ctx, call, trail)
      const output = 'refusal' in leave ? leave.refusal : await tool.invoke?.(leave.args, ctx, leave.call)
      trail?.returned(output, 'refusal' in leave)
      return output
    } catch (error) {
      trail?.threw(error)
      throw error
    }
  }

  async *stream(
    args: unknown,
    ctx: RunContext,
    call: ToolCallInput,
  ): AsyncGenerator<string | Part, ToolOutput | void, undefined> {
    const { tool } = this.#post
    const trail = this.#trail(ctx, call)
    try {
      const leave = await this.#admit(args, ctx, call, trail)
      const output = 'refusal' in leave ? leave.refusal : yield* tool.stream?.(leave.args, ctx, leave.call) ?? nothing()
      trail?.returned(output, 'refusal' in leave)
      return output
    } catch (error) {
      trail?.threw(error)
      throw error
    } finally {
      trail?.left()
    }
  }

  #trail(ctx: RunContext, call: ToolCallInput): Trail | undefined {
    const { bus, seat } = this.#post
    return bus && bus.listeners('audit') > 0 ? new Trail(bus, seat, ctx, call) : undefined
  }

  async #admit(args: unknown, ctx: RunContext, call: ToolCallInput, trail: Trail | undefined): Promise<Leave> {
    ctx.throwIfAborted()
    const { tool } = this.#post
    const decision = this.#post.decide(args)
    const { effect, by, rule } = decision
    if (effect === 'deny') return this.#deny(decision, trail)
    const ruled = { rules: effect, ...(rule !== undefined && { rule }) }
    if (effect === 'allow' && !tool.needsApproval) {
      trail?.decided({ ...ruled, effect, by })
      return { args, call }
    }
    // What was judged is what will run, whoever else holds the arguments meanwhile.
    const own = copyOf(args)
    try {
      if (effect === 'allow' && !(await tool.needsApproval?.(own, ctx))) {
        trail?.decided({ ...ruled, effect, by })
        return { args: own, call }
      }
      return await this.#obey(await this.#ask(decision, own, ctx, call), decision, own, call, trail)
    } catch (cause) {
      // A call that was not let through is answered, also where the tool says that its failures end the run.
      const error = KernelError.from(cause, 'TOOL_FAILED')
      if (error.code === 'INTERRUPTED' || error.code === 'ABORTED' || ctx.signal.aborted) throw cause
      trail?.decided({ ...ruled, effect: 'deny', by: 'nobody', message: error.message })
      return { refusal: { content: `Error: ${error.message}`, error: error.toJSON() } }
    }
  }

  #ask(decision: Decision, args: unknown, ctx: RunContext, call: ToolCallInput): Promise<Approved | undefined> {
    const { bus, seat, path, tool, askTimeoutMs } = this.#post
    const id = `${placeOf(ctx, call)}#policy`
    const { reason } = decision
    const message = `Allow ${tool.displayName ?? seat.tool}?${reason === undefined ? '' : ` ${reason}`}`
    const { callId, arguments: text } = call
    const live = async () => {
      if (!bus?.listeners('approval')) return undefined
      const question = { id, ...seat, path, callId, runId: ctx.runId, args: jsonOf(args), arguments: text, message }
      const goOn = pauseLimits(ctx)
      try {
        return await askLive(bus, question, { signal: ctx.signal, clock: ctx.clock, timeoutMs: askTimeoutMs })
      } finally {
        goOn()
      }
    }
    return askApproval({ id, tool: seat.tool, arguments: text, message, askLive: live }, ctx)
  }

  async #obey(
    answer: Approved | undefined,
    decision: Decision,
    args: unknown,
    call: ToolCallInput,
    trail: Trail | undefined,
  ): Promise<Leave> {
    const { rule } = decision
    const ruled = { rules: 'ask', ...(rule !== undefined && { rule }) } as const
    if (!answer) {
      const message = 'it needs approval, and nobody is there to be asked'
      trail?.decided({ ...ruled, effect: 'deny', by: 'nobody', message })
      return { refusal: denied(this.#post.seat, message, decision) }
    }
    const { approved, by, message, arguments: edited } = answer
    const decided = { ...ruled, by, ...(message !== undefined && { message }) }
    if (!approved) {
      trail?.decided({ ...decided, effect: 'deny' })
      return { refusal: refused(message) }
    }
    if (edited === undefined) {
      trail?.decided({ ...decided, effect: 'allow' })
      return { args, call }
    }
    const changed = await parseArguments(this.#post.tool, edited, validateJsonSchema)
    const again = this.#post.decide(changed)
    if (again.effect === 'deny') return this.#deny(again, trail)
    trail?.decided({ ...decided, effect: 'allow', arguments: edited })
    return { args: changed, call: { ...call, arguments: edited } }
  }

  #deny(decision: Decision, trail: Trail | undefined): Leave {
    const { by, rule, reason } = decision
    trail?.decided({ effect: 'deny', rules: 'deny', by, ...(rule !== undefined && { rule }) })
    return { refusal: denied(this.#post.seat, reason ?? 'a rule denies it', decision) }
  }
}

function denied({ agent, tool }: Seat, why: string, { rule }: Decision): ToolCallResult {
  const error = new KernelError('POLICY_DENIED', `tool ${tool}: policy does not allow this call, ${why}`, {
    details: { agent, tool, ...(rule !== undefined && { rule }) },
  })
  return { content: `Error: ${error.message}. Go on without this call.`, error: error.toJSON() }
}

/** The same as for a tool that asks for approval by itself. */
function refused(message = 'The user refused this call.'): ToolCallResult {
  return { content: message, error: new KernelError('TOOL_REFUSED', message).toJSON() }
}

async function* nothing(): AsyncGenerator<never, undefined, undefined> {}
