import {
  type ApprovalAnswer,
  type ContextKey,
  contextKey,
  type InterruptRequest,
  type Json,
  KernelError,
  type RunContext,
  type Tool,
  type ToolCallInput,
  type ToolCallResult,
} from '@troupe/kernel'
import { APPROVAL_SCHEMA, type JsonSchemaValidator, parseArguments } from '@troupe/kernel/kit'

/** The permission of the call that a context belongs to. */
export const PERMISSION: ContextKey<CallPermission> = contextKey<CallPermission>('chat-model.permission')

/** What may run: the call with its final arguments, or the refusal that the model gets instead. */
export type Permitted =
  | { readonly args: unknown; readonly input: ToolCallInput; readonly refusal?: undefined }
  | { readonly refusal: ToolCallResult }

/**
 * Whether a call may run: decided after all wraps, on the arguments that the tool would get.
 * Contract: whatever cannot be decided asks; an approval is for this call with these arguments, and what a person edits is checked and decided again.
 */
export class CallPermission {
  readonly #ctx: RunContext
  readonly #begin: (args: string) => Promise<void>
  /** How often a person was asked before the call ran again: these questions stand, even if the tool would not ask again. */
  readonly #askedBefore: number
  readonly #approved: Set<string> = new Set()
  #first: Promise<boolean> | undefined
  /** How often a person was asked. */
  asked = 0

  /** `ctx` is that of the call, under the journal of its run; `begin` announces that the tool starts. */
  constructor(ctx: RunContext, askedBefore: number, begin: (args: string) => Promise<void>) {
    this.#ctx = ctx
    this.#askedBefore = askedBefore
    this.#begin = begin
  }

  /** Asks for permission until there is one, or a refusal, for the arguments of the call. */
  async permit(
    tool: Tool,
    given: ToolCallInput,
    parsed: unknown,
    validator: JsonSchemaValidator,
    ctx: RunContext,
  ): Promise<Permitted> {
    let [input, args] = [given, parsed]
    while (!this.#approved.has(input.arguments) && (await this.#decide(tool, args, ctx))) {
      this.asked++
      const answer: Json = await ctx.derive({ asker: 'approval' }).interrupt(approvalRequest(tool, input.arguments))
      const refused = refusal(answer as ApprovalAnswer | null)
      if (refused) return { refusal: refused }
      const approved = approvedInput(input, answer as ApprovalAnswer)
      if (approved.arguments === input.arguments) this.#approved.add(input.arguments)
      else [input, args] = [approved, await parseArguments(tool, approved.arguments, validator)]
    }
    await this.#begin(input.arguments)
    return { args, input }
  }

  /** Whether the tool may have begun in an attempt that broke off. Contract: the decision is recorded before the tool begins. */
  async mayHaveBegun(hasDecided: boolean, tool: Tool): Promise<boolean> {
    if (!hasDecided || this.#askedBefore > 0) return hasDecided
    this.#first = this.#recorded(() => decision(tool, undefined, this.#ctx))
    return !(await this.#first)
  }

  #decide(tool: Tool, args: unknown, ctx: RunContext): Promise<boolean> {
    if (this.asked < this.#askedBefore) return ASKS
    const first = this.#first ?? this.#recorded(() => decision(tool, args, ctx))
    this.#first = undefined
    return first
  }

  #recorded(decide: () => Promise<boolean>): Promise<boolean> {
    return this.#ctx.perform('approval', decide)
  }
}

const ASKS = Promise.resolve(true)

/** Contract: true if it cannot be decided. */
async function decision(tool: Tool, args: unknown, ctx: RunContext): Promise<boolean> {
  try {
    return (await tool.needsApproval?.(args, ctx)) !== false
  } catch {
    return true
  }
}

/** The question whether a call may run. */
function approvalRequest({ name, displayName = name }: Tool, args: string): InterruptRequest {
  return {
    reason: 'approval',
    message: `Allow ${displayName}?`,
    responseSchema: APPROVAL_SCHEMA,
    metadata: { tool: name, arguments: args },
  }
}

/** The result of a call that a person refused; undefined if it may run. */
function refusal(answer: ApprovalAnswer | null): ToolCallResult | undefined {
  if (answer?.approved === true) return undefined
  const message = typeof answer?.message === 'string' ? answer.message : 'The user refused this call.'
  return { content: message, error: new KernelError('TOOL_REFUSED', message).toJSON() }
}

/** The input of an approved call, with the arguments as the person edited them. */
function approvedInput(input: ToolCallInput, answer: ApprovalAnswer): ToolCallInput {
  const edited: unknown = answer.arguments
  if (edited === undefined) return input
  return { ...input, arguments: typeof edited === 'string' ? edited : JSON.stringify(edited) }
}
