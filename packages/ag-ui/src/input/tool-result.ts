import type { ToolMessage as AgUiToolMessage } from '@ag-ui/core'
import { type Content, type Json, KernelError, type Thread, type ToolMessage } from '@troupe/kernel'
import { withMessageMetadata } from '../translate/client-metadata.ts'
import { kernelContent, type Room } from './kernel-content.ts'

/** How the results of client tools are kept: as the text they came as, or read as JSON. */
export type ToolResultMode = 'text' | 'json'

/** Converts a client's result for an open call. */
export function toolResult(
  { id, content, error, metadata }: AgUiToolMessage,
  { callId, name, agentName }: Thread['openCalls'][number],
  mode: ToolResultMode,
  room: Room,
): ToolMessage {
  const given = kernelContent(content, room)
  const failure = error === undefined ? undefined : new KernelError('CLIENT_TOOL_FAILED', error).toJSON()
  const outcome = mode === 'json' && typeof given === 'string' ? readJson(given) : { content: orError(given, error) }
  return {
    id,
    role: 'tool',
    callId,
    name,
    ...(agentName !== '' && { agentName }),
    ...outcome,
    content: outcome.content === '' ? '' : withMessageMetadata(outcome.content, { metadata }),
    ...(failure && { error: failure }),
  }
}

/** Falls back to the error text: some clients send only `error`, and the model needs content. */
function orError(content: Content, error: string | undefined): Content {
  return content.length === 0 && error !== undefined ? error : content
}

function readJson(text: string): Pick<ToolMessage, 'content' | 'data'> {
  try {
    return { content: text, data: JSON.parse(text) as Json }
  } catch (cause) {
    const data = { error: `Invalid JSON: ${KernelError.from(cause).message}`, error_type: 'JSON_DECODE_ERROR' }
    return { content: JSON.stringify(data), data }
  }
}
