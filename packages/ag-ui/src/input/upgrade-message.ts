/**
 * Converts a message of an older client to the current protocol: `binary` parts become media parts.
 * Contract: accepts any value and returns unknown ones unchanged.
 */
export function upgradeMessage(message: unknown): unknown {
  if (!isRecord(message) || !Array.isArray(message.content)) return message
  const { content } = message
  const upgraded = content.map(upgradePart)
  return upgraded.every((part, i) => part === content[i]) ? message : { ...message, content: upgraded }
}

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

function kindOf(mimeType: unknown): string {
  const [kind = ''] = typeof mimeType === 'string' ? mimeType.split('/') : []
  return ['image', 'audio', 'video'].includes(kind) ? kind : 'document'
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null
}
