import { leftOut } from './kernel-content.ts'

/**
 * Converts a message of any client to the current protocol: `binary` parts become media parts, and a part that does not fit the protocol a note.
 * Contract: accepts any value and returns unknown ones unchanged.
 */
export function upgradeMessage(message: unknown): unknown {
  if (!isRecord(message) || !Array.isArray(message.content) || !WITH_PARTS.has(message.role)) return message
  const { content } = message
  const upgraded = content.map((part) => fitting(upgradePart(part)))
  return upgraded.every((part, i) => part === content[i]) ? message : { ...message, content: upgraded }
}

/** The roles of messages that may have parts. */
const WITH_PARTS: ReadonlySet<unknown> = new Set(['user', 'tool'])
const MEDIA: readonly unknown[] = ['image', 'audio', 'video', 'document']

function upgradePart(part: unknown): unknown {
  if (!isRecord(part) || part.type !== 'binary') return part
  const { id, url, data, mimeType, filename } = part
  const source =
    typeof data === 'string'
      ? { type: 'data', value: data }
      : typeof url === 'string'
        ? { type: 'url', value: url }
        : { type: 'file', value: id }
  return {
    type: kindOf(mimeType),
    source: { ...source, ...(mimeType != null && { mimeType }) },
    ...(typeof filename === 'string' && { metadata: { filename } }),
  }
}

/** A part, or a note in its place if it does not fit the protocol. */
function fitting(part: unknown): unknown {
  if (!isRecord(part)) return note('part', 'it is not an object')
  if (part.type === 'text') return typeof part.text === 'string' ? part : note('text', 'it has no text')
  if (!MEDIA.includes(part.type)) return note('part', 'its type is not known')
  const { type, source, metadata } = part
  const name = isRecord(metadata) ? metadata.filename : undefined
  if (!isRecord(source)) return note(String(type), 'it has no source', name)
  const wrong = wrongSource(source)
  if (wrong !== undefined) return note(String(type), wrong, name)
  // A client may leave out the media type of data; the kind of the part says enough.
  return source.type === 'data' && source.mimeType == null ? { ...part, source: { ...source, mimeType: '' } } : part
}

function wrongSource({ type, value, mimeType }: Record<string, unknown>): string | undefined {
  if (type !== 'data' && type !== 'url' && type !== 'file') return 'its source is of a type that is not known'
  if (typeof value !== 'string') return 'its source has no value'
  return mimeType == null || typeof mimeType === 'string' ? undefined : 'its media type is not a text'
}

function note(what: string, why: string, name?: unknown): unknown {
  return { type: 'text', text: leftOut(what, why, name) }
}

function kindOf(mimeType: unknown): string {
  const [kind = ''] = typeof mimeType === 'string' ? mimeType.split('/') : []
  return ['image', 'audio', 'video'].includes(kind) ? kind : 'document'
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
