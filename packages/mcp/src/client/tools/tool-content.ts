import type { CallToolResult, ContentBlock, EmbeddedResource } from '@modelcontextprotocol/client'
import type { Content, FilePart, Json, Part, TextPart, ToolCallResult } from '@troupe/kernel'
import { textOf } from '@troupe/kernel'

/** The result of a server's tool as the result of a call. */
export function resultOfCall({ content, structuredContent, isError }: CallToolResult): ToolCallResult {
  const shown = contentOf(content ?? [], structuredContent)
  const result = {
    content: shown,
    ...(structuredContent !== undefined && { data: structuredContent as Json }),
  }
  if (!isError) return result
  return { ...result, error: { code: 'MCP_CALL_FAILED', message: textOf(shown) || 'the tool failed' } }
}

/** Text where that is all, otherwise parts in order. */
function contentOf(blocks: readonly ContentBlock[], structured: unknown): Content {
  if (blocks.length === 0) return structured === undefined ? '' : JSON.stringify(structured)
  return contentOfParts(blocks.map(partOf))
}

/** The text of a single part, or the parts. */
export function contentOfParts(parts: readonly Part[]): Content {
  const [first] = parts
  return parts.length === 1 && first?.type === 'text' ? first.text : parts
}

/** The part for one block of content. */
export function partOf(block: ContentBlock): Part {
  switch (block.type) {
    case 'text':
      return text(block.text)
    case 'image':
    case 'audio':
      return { type: 'file', mediaType: block.mimeType, data: block.data }
    case 'resource':
      return resourcePart(block.resource)
    case 'resource_link':
      return text(`${block.title ?? block.name}: ${block.uri}`)
    default:
      return text(JSON.stringify(block))
  }
}

/** The part for what a resource contains. */
export function resourcePart(resource: EmbeddedResource['resource']): TextPart | FilePart {
  if ('text' in resource) return text(resource.text)
  const { mimeType = 'application/octet-stream', blob, uri } = resource
  return { type: 'file', mediaType: mimeType, data: blob, name: uri }
}

function text(value: string): TextPart {
  return { type: 'text', text: value }
}
