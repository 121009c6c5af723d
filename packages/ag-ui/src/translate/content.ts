import type { ContentPart, PartSource } from '@ag-ui/core'
import { type Content, type ErrorInfo, type FilePart, type Json, type Part, textOf } from '@troupe/kernel'

/** Thinking as a client shows it: what stands between two pieces of text. */
export type ReasoningSegment = { readonly text: string; readonly encrypted?: string; readonly afterText: boolean }

/** What a person or a tool gave, for a client. Contract: plain text stays a text; thinking is left out. */
export function contentOf(content: Content): string | ContentPart[] {
  if (typeof content === 'string') return content
  if (!content.some(({ type }) => type === 'file')) return textOf(content)
  return content.flatMap((part) => partOf(part) ?? [])
}

/** A part for a client; thinking has none. */
export function partOf(part: Part): ContentPart | undefined {
  if (part.type === 'text') return { type: 'text', text: part.text }
  if (part.type === 'reasoning') return undefined
  const { mediaType, name } = part
  const [kind] = mediaType.split('/')
  const type = kind === 'image' || kind === 'audio' || kind === 'video' ? kind : 'document'
  return { type, source: sourceOf(part), ...(name !== undefined && { metadata: { name } }) }
}

/** The files of a message. */
export function filesOf(content: Content): readonly FilePart[] {
  return typeof content === 'string' ? [] : content.filter((part) => part.type === 'file')
}

/** The thinking of a message in segments. Contract: the same as a client saw while it was streamed. */
export function segmentsOf(content: Content): readonly ReasoningSegment[] {
  if (typeof content === 'string') return []
  const segments: ReasoningSegment[] = []
  let said = ''
  let open = false
  for (const part of content) {
    if (part.type === 'text' && part.text !== '') {
      said += part.text
      open = false
    }
    if (part.type !== 'reasoning') continue
    const before = open ? segments.pop() : undefined
    const encrypted = part.encrypted ?? before?.encrypted
    const segment = { text: (before?.text ?? '') + part.text, afterText: said !== '' }
    segments.push(encrypted === undefined ? segment : { ...segment, encrypted })
    open = true
  }
  return segments
}

/** The id under which a client keeps a segment of a message's thinking. */
export function segmentId(messageId: string, index: number): string {
  return index === 0 ? `${messageId}:reasoning` : `${messageId}:reasoning:${index + 1}`
}

/** What came of a call. */
export interface CallOutcome {
  readonly content: Content
  readonly display?: string
  readonly data?: Json
  readonly error?: ErrorInfo
}

const TOOL_FAILED = 'Error: the tool failed.'
/** Errors that speak to the person and not of the inside of a tool. */
const TELLABLE: ReadonlySet<string> = new Set(['POLICY_DENIED', 'TOOL_LIMIT_EXCEEDED', 'TOOL_REFUSED', 'TOOL_UNKNOWN'])

/** A result for a client. Contract: what a tool threw, whatever its code, is not shown unless that is wanted; `display` and `data` stand in the metadata. */
export function resultOf(
  { content, display, data, error }: CallOutcome,
  showToolErrors: boolean,
): { content: string | ContentPart[]; metadata?: Record<string, Json> } {
  const hidden = error !== undefined && !showToolErrors && quotes(content, error)
  const metadata: Record<string, Json> = {
    ...(display !== undefined && { display }),
    ...(data !== undefined && { data }),
    ...(error && { error: { code: error.code } }),
  }
  return {
    content: hidden ? TOOL_FAILED : contentOf(content),
    ...(Object.keys(metadata).length > 0 && { metadata }),
  }
}

/** Whether a result says what its error says; a tool that returns an error may have words of its own. */
function quotes(content: Content, { code, message }: ErrorInfo): boolean {
  if (TELLABLE.has(code)) return false
  return code === 'TOOL_FAILED' || textOf(content).includes(message)
}

function sourceOf({ mediaType: mimeType, data, url }: FilePart): PartSource {
  return data === undefined ? { type: 'url', value: url ?? '', mimeType } : { type: 'data', value: data, mimeType }
}
