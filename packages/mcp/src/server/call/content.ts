import type { ContentBlock } from '@modelcontextprotocol/server'
import type { Content, FilePart } from '@troupe/kernel'

/** What a tool or an agent has said, as blocks of content; reasoning is left out. */
export function contentBlocks(content: Content): ContentBlock[] {
  if (typeof content === 'string') return [{ type: 'text', text: content }]
  return content.flatMap((part, i): ContentBlock[] => {
    if (part.type === 'text') return [{ type: 'text', text: part.text }]
    return part.type === 'file' ? [fileBlock(part, i)] : []
  })
}

function fileBlock({ mediaType, data, url, name }: FilePart, index: number): ContentBlock {
  if (data === undefined) return { type: 'resource_link', uri: url ?? '', name: name ?? url ?? '', mimeType: mediaType }
  if (mediaType.startsWith('image/')) return { type: 'image', data, mimeType: mediaType }
  if (mediaType.startsWith('audio/')) return { type: 'audio', data, mimeType: mediaType }
  const uri = name !== undefined && URL.canParse(name) ? name : `file:///${encodeURIComponent(name ?? String(index))}`
  const resource = { uri, mimeType: mediaType }
  const text = isText(mediaType) ? decoded(data) : undefined
  return { type: 'resource', resource: text === undefined ? { ...resource, blob: data } : { ...resource, text } }
}

function isText(mediaType: string): boolean {
  return mediaType.startsWith('text/') || mediaType.startsWith('application/json')
}

/** Contract: undefined for what is not base64 of UTF-8. */
function decoded(data: string): string | undefined {
  try {
    const bytes = Uint8Array.from(atob(data), (char) => char.charCodeAt(0))
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    return undefined
  }
}
