import type { InterruptRequest, RunContext, Tool } from '@troupe/kernel'
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
