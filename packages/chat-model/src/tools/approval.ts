import {
  type ApprovalAnswer,
  type InterruptRequest,
  KernelError,
  type RunContext,
  type Tool,
  type ToolCallInput,
  type ToolCallResult,
} from '@troupe/kernel'
import { APPROVAL_SCHEMA, type JsonSchemaValidator, parseArguments } from '@troupe/kernel/kit'

/** Whether a call needs the approval of a person. Contract: false for invalid arguments, which are answered when the call runs. */
export async function needsApproval(
  tool: Tool,
  args: string,
  validator: JsonSchemaValidator,
  ctx: RunContext,
): Promise<boolean> {
  if (!tool.needsApproval) return false
  let parsed: unknown
  try {
    parsed = await parseArguments(tool, args, validator)
  } catch {
    return false
  }
  return tool.needsApproval(parsed, ctx)
}

/** The question whether a call may run. */
export function approvalRequest({ name, displayName = name }: Tool, args: string): InterruptRequest {
  return {
    reason: 'approval',
    message: `Allow ${displayName}?`,
    responseSchema: APPROVAL_SCHEMA,
    metadata: { tool: name, arguments: args },
  }
}

/** The result of a call that a person refused; undefined if it may run. */
export function refusal(answer: ApprovalAnswer | null): ToolCallResult | undefined {
  if (answer?.approved === true) return undefined
  const message = typeof answer?.message === 'string' ? answer.message : 'The user refused this call.'
  return { content: message, error: new KernelError('TOOL_REFUSED', message).toJSON() }
}

/** The input of an approved call, with the arguments as the person edited them. */
export function approvedInput(input: ToolCallInput, answer: ApprovalAnswer): ToolCallInput {
  const edited: unknown = answer.arguments
  if (edited === undefined) return input
  return { ...input, arguments: typeof edited === 'string' ? edited : JSON.stringify(edited) }
}
