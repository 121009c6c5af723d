import type { ContentPart, PartSource } from '@ag-ui/core'
import type { Content, FilePart, Part } from '@troupe/kernel'
import { invalidInput } from './check-json.ts'

/**
 * Converts the content of an AG-UI message to kernel content.
 * Contract: throws `VALIDATION_FAILED` for media that the server cannot read.
 */
export function kernelContent(content: string | readonly ContentPart[], path: string): Content {
  if (typeof content === 'string') return content
  return content.map((part, i): Part => {
    if (part.type === 'text') return { type: 'text', text: part.text }
    const name: unknown = (part.metadata as { readonly filename?: unknown } | undefined)?.filename
    const file = fileOf(part.source, part.type, `${path}[${i}].source`)
    return typeof name === 'string' ? { ...file, name } : file
  })
}

type MediaKind = Exclude<ContentPart['type'], 'text'>

const BASE64 = /^[A-Za-z0-9+/_-]+={0,2}$/
const DATA_URL = /^data:([^;,]+)(?:;[^;,]+)*;base64,/i
/** The media type if the client gives none. */
const ANY: Record<MediaKind, string> = {
  image: 'image/*',
  audio: 'audio/*',
  video: 'video/*',
  document: 'application/octet-stream',
}

function fileOf(source: PartSource, kind: MediaKind, path: string): FilePart {
  const { value, mimeType } = source
  if (source.type === 'file') {
    throw invalidInput(path, 'a file that only its provider can read is not supported; send its data or a link')
  }
  if (source.type === 'data') return dataPart(mimeType || ANY[kind], value, path)
  const inline = DATA_URL.exec(value.slice(0, 200))
  if (inline) return dataPart(mimeType ?? inline[1] ?? ANY[kind], value.slice(inline[0].length), path)
  if (!isLink(value)) throw invalidInput(`${path}.value`, 'expected a link that begins with https:// or http://')
  return { type: 'file', mediaType: mimeType ?? ANY[kind], url: value }
}

function dataPart(mediaType: string, data: string, path: string): FilePart {
  if (!BASE64.test(data)) throw invalidInput(`${path}.value`, 'expected base64')
  return { type: 'file', mediaType, data }
}

function isLink(value: string): boolean {
  return URL.canParse(value) && ['http:', 'https:'].includes(new URL(value).protocol)
}
