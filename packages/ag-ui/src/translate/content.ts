import type { ContentPart, PartSource } from '@ag-ui/core'
import {
  type Content,
  type ErrorInfo,
  type FilePart,
  type Json,
  type JsonObject,
  type Part,
  textOf,
} from '@troupe/kernel'
import { clientMetadata, messageMetadata } from './client-metadata.ts'

/** The content of a user or tool message for a client. Contract: plain text stays a string, unless the client noted something at a part; reasoning is left out. */
export function contentOf(content: Content): string | ContentPart[] {
  if (typeof content === 'string') return content
  if (!content.some((part) => part.type === 'file' || clientMetadata(part, 'part'))) return textOf(content)
  return content.flatMap((part) => partOf(part) ?? [])
}

/** A part for a client; undefined for reasoning. */
export function partOf(part: Part): ContentPart | undefined {
  const noted = clientMetadata(part, 'part')
  if (part.type === 'text') return { type: 'text', text: part.text, ...(noted && { metadata: noted }) }
  if (part.type === 'reasoning') return undefined
  const { mediaType, name } = part
  const [kind] = mediaType.split('/')
  const type = kind === 'image' || kind === 'audio' || kind === 'video' ? kind : 'document'
  return { type, source: sourceOf(part), ...fileMetadata(name, noted) }
}

/** The name of a file is `filename` for clients, in both directions. */
function fileMetadata(name: string | undefined, noted: JsonObject | undefined): { readonly metadata?: JsonObject } {
  const metadata = { ...noted, ...(name !== undefined && { filename: name }) }
  return Object.keys(metadata).length > 0 ? { metadata } : {}
}

/** The files of a message. */
export function filesOf(content: Content): readonly FilePart[] {
  return typeof content === 'string' ? [] : content.filter((part) => part.type === 'file')
}

/** The result of a call. */
interface CallOutcome {
  readonly content: Content
  readonly display?: string
  readonly data?: Json
  readonly error?: ErrorInfo
}

const TOOL_FAILED = 'Error: the tool failed.'
/** The code of an error that the client's own tool reported. */
const CLIENT_TOOL_FAILED = 'CLIENT_TOOL_FAILED'
/** Errors whose text is meant for the user and reveals nothing about a tool. */
const PUBLIC_ERRORS: ReadonlySet<string> = new Set([
  CLIENT_TOOL_FAILED,
  'POLICY_DENIED',
  'TOOL_LIMIT_EXCEEDED',
  'TOOL_REFUSED',
  'TOOL_UNKNOWN',
])

/** A result for a client. Contract: the text of an error that a tool threw is shown only if `showToolErrors` is set; `display` and `data` are in the metadata. */
export function resultOf(
  { content, display, data, error }: CallOutcome,
  showToolErrors: boolean,
): { content: string | ContentPart[]; metadata?: Record<string, Json> } {
  const hidden = error !== undefined && !showToolErrors && quotes(content, error)
  const metadata: Record<string, Json> = {
    ...messageMetadata({ content }).metadata,
    ...(display !== undefined && { display }),
    ...(data !== undefined && { data }),
    ...(error && { error: { code: error.code } }),
  }
  return {
    content: hidden ? TOOL_FAILED : contentOf(content),
    ...(Object.keys(metadata).length > 0 && { metadata }),
  }
}

/** What the client's own tool said about its failure. */
export function clientToolError({ error }: Pick<CallOutcome, 'error'>): { readonly error?: string } {
  return error?.code === CLIENT_TOOL_FAILED ? { error: error.message } : {}
}

/** Whether a result repeats the text of its error; a tool that returns an error may give a text of its own. */
function quotes(content: Content, { code, message }: ErrorInfo): boolean {
  if (PUBLIC_ERRORS.has(code)) return false
  return code === 'TOOL_FAILED' || textOf(content).includes(message)
}

function sourceOf({ mediaType: mimeType, data, url }: FilePart): PartSource {
  return data === undefined ? { type: 'url', value: url ?? '', mimeType } : { type: 'data', value: data, mimeType }
}
