import type { Interrupt as AgUiInterrupt } from '@ag-ui/core'
import type { Interrupt, JsonObject, JsonSchema } from '@troupe/kernel'
import { ownName } from './own-name.ts'
import { copyOf } from './shared-state.ts'

/**
 * A question as a client asks it, in the words of the protocol.
 * @example interruptOf({ id: 'c1#…', reason: 'approval', agentName: 'clerk', callId: 'c1' }).reason // 'tool_call'
 */
export function interruptOf(interrupt: Interrupt, subagentRunId?: string, clientToolPrefix?: string): AgUiInterrupt {
  const { id, agentName, callId, message, responseSchema, expiresAt } = interrupt
  const schema = copyOf(isApproval(interrupt) ? shownSchema(responseSchema) : responseSchema)
  const until = expiresAt === undefined ? undefined : new Date(expiresAt)
  return {
    id,
    reason: protocolReason(interrupt),
    ...(message !== undefined && { message }),
    ...(callId !== undefined && { toolCallId: callId }),
    ...(typeof schema === 'object' && schema !== null && { responseSchema: schema }),
    // A date out of range cannot be formatted; the server still enforces it.
    ...(until && !Number.isNaN(until.getTime()) && { expiresAt: until.toISOString() }),
    metadata: { ...shownMetadata(interrupt, clientToolPrefix), agentName },
    ...(subagentRunId !== undefined && { subagentRunId }),
  }
}

/** What a question says besides; an approval names its tool. */
function shownMetadata({ reason, metadata }: Interrupt, prefix: string | undefined): Record<string, unknown> {
  const shown = copyOf(metadata) as Record<string, unknown> | undefined
  const tool = isApproval({ reason }) ? shown?.tool : undefined
  return typeof tool === 'string' ? { ...shown, tool: ownName(tool, prefix) } : { ...shown }
}

/** Whether a question is the approval of a call, whose answer the protocol spells differently. */
export function isApproval({ reason }: Pick<Interrupt, 'reason'>): boolean {
  return reason === 'approval'
}

/** The field of an approval that has the edited arguments, for clients and for the kernel. */
export const EDITED = 'editedArgs'
export const ARGUMENTS = 'arguments'

const CORE: ReadonlySet<string> = new Set(['tool_call', 'input_required', 'confirmation'])

/** The protocol has three reasons of its own; any other is namespaced. */
function protocolReason(interrupt: Interrupt): string {
  const { reason, callId } = interrupt
  if (isApproval(interrupt)) return callId === undefined ? 'confirmation' : 'tool_call'
  if (reason === 'input') return 'input_required'
  return CORE.has(reason) || reason.includes(':') ? reason : `troupe:${reason}`
}

/** The properties of an answer; undefined if its schema names none. */
export function propertiesOf(schema: JsonSchema | undefined): JsonObject | undefined {
  const properties: unknown = schema?.properties
  return typeof properties === 'object' && properties !== null ? (properties as JsonObject) : undefined
}

/** The schema of an approval with the edited arguments as the protocol has them, which tells clients that they may offer to edit. */
function shownSchema(schema: JsonSchema | undefined): JsonSchema | undefined {
  const properties = propertiesOf(schema)
  if (!schema || !properties || !Object.hasOwn(properties, ARGUMENTS)) return schema
  const { [ARGUMENTS]: _, ...rest } = properties
  return { ...schema, properties: { ...rest, [EDITED]: EDITED_SCHEMA } }
}

const EDITED_SCHEMA: JsonObject = {
  type: 'object',
  description: 'All arguments of the call, instead of those that were shown.',
}
