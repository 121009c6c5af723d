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
 * Contract: whatever cannot be decided asks; an approval is for this call with these arguments; arguments that a person edits are validated again, and
 * are the ones that this person approves.
 */
export class CallPermission {
  readonly #ctx: RunContext
  readonly #begin: (args: string) => Promise<void>
  /** Whether a person was asked before the call ran again: the question stands, even if the tool would not ask again. */
  readonly #askedBefore: boolean
  /** What a person has approved, by the arguments that were shown. */
  readonly #approved: Map<string, ToolCallInput> = new Map()
  #first: Promise<boolean> | undefined
  /** Whether a person was asked. */
  asked: boolean

  /** `ctx` is that of the call, under the journal of its run; `begin` announces that the tool starts. */
  constructor(ctx: RunContext, askedBefore: boolean, begin: (args: string) => Promise<void>) {
    this.#ctx = ctx
    this.#askedBefore = askedBefore
    this.asked = askedBefore
    this.#begin = begin
  }

  /** Decides whether the call may run, and asks a person if need be. */
  async permit(
    tool: Tool,
    given: ToolCallInput,
    parsed: unknown,
    validator: JsonSchemaValidator,
    ctx: RunContext,
  ): Promise<Permitted> {
    const known = this.#approved.get(given.arguments)
    const input = known ?? ((await this.#decide(tool, parsed, ctx)) ? await this.#ask(tool, given, ctx) : given)
    if ('refusal' in input) return input
    const args = input === given ? parsed : await parseArguments(tool, input.arguments, validator)
    await this.#begin(input.arguments)
    return { args, input }
  }

  async #ask(tool: Tool, given: ToolCallInput, ctx: RunContext): Promise<ToolCallInput | { refusal: ToolCallResult }> {
    this.asked = true
    const answer: Json = await ctx.derive({ asker: 'approval' }).interrupt(approvalRequest(tool, given.arguments))
    const refused = refusal(answer as ApprovalAnswer | null)
    if (refused) return { refusal: refused }
    const input = approvedInput(given, answer as ApprovalAnswer)
    this.#approved.set(given.arguments, input)
    return input
  }

  /** Whether a person has to be asked first, for a call that no wrap changes. */
  async asksFirst(tool: Tool, args: string, validator: JsonSchemaValidator): Promise<boolean> {
    this.#first = this.#recorded(async () => {
      try {
        return await decision(tool, await parseArguments(tool, args, validator), this.#ctx)
      } catch {
        // Invalid arguments never reach the tool.
        return true
      }
    })
    return this.#first
  }

  #decide(tool: Tool, args: unknown, ctx: RunContext): Promise<boolean> {
    const decide = this.#askedBefore ? async () => true : () => decision(tool, args, ctx)
    const first = this.#first ?? this.#recorded(decide)
    this.#first = undefined
    return first
  }

  #recorded(decide: () => Promise<boolean>): Promise<boolean> {
    return this.#ctx.perform('approval', decide)
  }
}

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
