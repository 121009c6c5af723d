import type { Content, Json, JsonObject, Message } from '@troupe/kernel'
import { isJsonObject } from './json-patch.ts'

/** The name under which the parts of a message keep what their client noted, so that it comes back as it was given. */
export const CLIENT_METADATA = 'ag-ui'

/** What a client noted at a part: about the part itself, or, at the first part, about its message. */
export function clientMetadata(
  { metadata }: Exclude<Content, string>[number],
  about: 'part' | 'message',
): JsonObject | undefined {
  const noted = metadata?.[CLIENT_METADATA]?.[about]
  return isJsonObject(noted) ? noted : undefined
}

/** What a client noted at a message, and the name that it gave its author. */
export function messageMetadata({ content }: Pick<Message, 'content'>): {
  readonly metadata?: Record<string, Json>
  readonly name?: string
} {
  const first = typeof content === 'string' ? undefined : content[0]
  const noted = first && clientMetadata(first, 'message')
  const name = first?.metadata?.[CLIENT_METADATA]?.name
  return { ...(noted && { metadata: noted }), ...(typeof name === 'string' && { name }) }
}

/** Keeps what a client noted at a message with its first part. */
export function withMessageMetadata(
  content: Content,
  { metadata, name }: { readonly metadata?: unknown; readonly name?: string | undefined },
): Content {
  const message = isJsonObject(metadata) && Object.keys(metadata).length > 0 ? metadata : undefined
  if (!message && !name) return content
  const [first, ...rest] = typeof content === 'string' ? [{ type: 'text', text: content } as const] : content
  if (!first) return content
  const noted = { ...first.metadata?.[CLIENT_METADATA], ...(message && { message }), ...(name && { name }) }
  return [{ ...first, metadata: { ...first.metadata, [CLIENT_METADATA]: noted } }, ...rest]
}
