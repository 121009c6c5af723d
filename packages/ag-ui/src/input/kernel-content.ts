import type { ContentPart, PartSource } from '@ag-ui/core'
import type { Content, FilePart, JsonObject, Part } from '@troupe/kernel'
import { CLIENT_METADATA } from '../translate/client-metadata.ts'
import { isJsonObject } from '../translate/json-patch.ts'

/** The characters that the new messages of one request may still have. */
export class Room {
  readonly #limit: number
  #left: number

  constructor(limit: number) {
    this.#limit = limit
    this.#left = limit
  }

  /** Takes room for a text. Contract: gives the reason if there is not enough. */
  take({ length }: string): string | undefined {
    if (length > this.#left) return `it has ${length} characters, and new messages may have ${this.#limit}`
    this.#left -= length
    return undefined
  }
}

/**
 * Converts the content of an AG-UI message to kernel content.
 * Contract: never throws. A part that the server cannot take is left out, with a note in its place: clients send it again with every request.
 */
export function kernelContent(content: string | readonly ContentPart[], room: Room): Content {
  if (typeof content === 'string') return textOrNote(content, room)
  return content.map((part): Part => {
    const metadata = partMetadata(part)
    if (part.type === 'text') return { type: 'text', text: textOrNote(part.text, room), ...metadata }
    const name: unknown = (part.metadata as { readonly filename?: unknown } | undefined)?.filename
    const file = fileOf(part.source, part.type)
    const wrong = typeof file === 'string' ? file : room.take(file.data ?? file.url ?? '')
    if (wrong !== undefined) return { type: 'text', text: leftOut(part.type, wrong, name), ...metadata }
    return { ...(file as FilePart), ...(typeof name === 'string' && { name }), ...metadata }
  })
}

/** The text in place of something that was left out, for the model and for the page. */
export function leftOut(what: string, why: string, name?: unknown): string {
  return `[${what}${typeof name === 'string' ? ` ${JSON.stringify(name)}` : ''} left out: ${why}]`
}

function textOrNote(text: string, room: Room): string {
  const wrong = room.take(text)
  return wrong === undefined ? text : leftOut('text', wrong)
}

/** What a client has noted at a part, so that it gets it back. */
function partMetadata({ metadata }: ContentPart): Pick<Part, 'metadata'> {
  if (!isJsonObject(metadata)) return {}
  const { filename, ...rest } = metadata
  const part: JsonObject = typeof filename === 'string' ? rest : metadata
  return Object.keys(part).length > 0 ? { metadata: { [CLIENT_METADATA]: { part } } } : {}
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

/** The file of a part, or the reason why the server cannot read it. */
function fileOf(source: PartSource, kind: MediaKind): FilePart | string {
  const { value, mimeType } = source
  if (source.type === 'file') return 'only its provider can read it; send its data or a link'
  if (source.type === 'data') return dataPart(mimeType || ANY[kind], value)
  const inline = DATA_URL.exec(value.slice(0, 200))
  if (inline) return dataPart(mimeType ?? inline[1] ?? ANY[kind], value.slice(inline[0].length))
  if (!isLink(value)) return 'its link does not begin with https:// or http://'
  return { type: 'file', mediaType: mimeType ?? ANY[kind], url: value }
}

function dataPart(mediaType: string, data: string): FilePart | string {
  return BASE64.test(data) ? { type: 'file', mediaType, data } : 'its data is not base64'
}

function isLink(value: string): boolean {
  return URL.canParse(value) && ['http:', 'https:'].includes(new URL(value).protocol)
}
