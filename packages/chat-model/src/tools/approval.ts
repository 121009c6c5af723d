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

/** The call that is to be permitted. */
export interface PermittedCall {
  /** Announces that the tool starts. */
  begin?(args: string): void | Promise<void>
  /** Notes that a person is asked. */
  ask?(): void
}

/**
 * Whether a call may run: decided after all wraps, on the arguments that the tool would get.
 * Contract: whatever cannot be decided asks; an approval is for this call with these arguments; arguments that a person edits are validated again, and
 * are the ones that this person approves.
 */
export class CallPermission {
  readonly #ctx: RunContext
  readonly #call: PermittedCall
  /** Whether a person was asked before the call ran again: the question stands, even if the tool would not ask again. */
  readonly #askedBefore: boolean
  /** The arguments that a person has approved, by the tool and the arguments that were shown. */
  readonly #approved: Map<string, string> = new Map()
  #first: Promise<boolean> | undefined

  /** `ctx` is that of the call, under the journal of its run. */
  constructor(ctx: RunContext, askedBefore: boolean, call: PermittedCall) {
    this.#ctx = ctx
    this.#askedBefore = askedBefore
    this.#call = call
  }

  /** Decides whether the call may run, and asks a person if need be. */
  async permit(
    tool: Tool,
    given: ToolCallInput,
    parsed: unknown,
    validator: JsonSchemaValidator,
    ctx: RunContext,
  ): Promise<Permitted> {
    const shown = JSON.stringify([tool.name, given.arguments])
    if (!this.#approved.has(shown) && (await this.#decide(tool, parsed, ctx))) {
      const answer = (await this.#ask(tool, given.arguments, ctx)) as ApprovalAnswer | null
      const refused = refusal(answer)
      if (refused) return { refusal: refused }
      this.#approved.set(shown, approvedArguments(given.arguments, answer?.arguments))
    }
    const text = this.#approved.get(shown) ?? given.arguments
    const args = text === given.arguments ? parsed : await parseArguments(tool, text, validator)
    await this.#call.begin?.(text)
    return { args, input: text === given.arguments ? given : { ...given, arguments: text } }
  }

  #ask(tool: Tool, args: string, ctx: RunContext): Promise<Json> {
    this.#call.ask?.()
    return ctx.derive({ asker: 'approval' }).interrupt(approvalRequest(tool, args))
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

/** The arguments of an approved call, as the person edited them. */
function approvedArguments(shown: string, edited: unknown): string {
  if (edited === undefined) return shown
  return typeof edited === 'string' ? edited : JSON.stringify(edited)
}
