import type { Attachment, UserContent } from './item.ts'

type Part = Exclude<UserContent, string>[number]

/** The text of a message or a result. */
export function textOf(content: unknown): string {
  if (typeof content === 'string') return content
  if (!Array.isArray(content)) return ''
  return content.map((part: { text?: unknown }) => (typeof part?.text === 'string' ? part.text : '')).join('')
}

/** The files of a message, to be shown. */
export function filesOf(content: UserContent): readonly Attachment[] {
  return typeof content === 'string' ? [] : content.flatMap((part) => fileOf(part) ?? [])
}

function fileOf(part: Part): Attachment | undefined {
  if (!('source' in part)) return undefined
  const { source, metadata } = part
  const { type, value, mimeType: mediaType = 'application/octet-stream' } = source
  if (type !== 'data' && type !== 'url') return undefined
  const { filename } = (metadata ?? {}) as { readonly filename?: unknown }
  const url = type === 'url' ? value : `data:${mediaType};base64,${value}`
  return { mediaType, url, ...(typeof filename === 'string' && { name: filename }) }
}

/** What is sent for a text and files. */
export async function contentOf(text: string, files: readonly Blob[]): Promise<UserContent> {
  if (files.length === 0) return text
  const parts = await Promise.all(files.map(partOf))
  return text === '' ? parts : [{ type: 'text', text }, ...parts]
}

/** A content with another text; its files stay. */
export function withText(content: UserContent, text: string): UserContent {
  if (typeof content === 'string') return text
  const files = content.filter((part) => part.type !== 'text')
  if (files.length === 0) return text
  return text === '' ? files : [{ type: 'text', text }, ...files]
}

async function partOf(file: Blob): Promise<Part> {
  const mimeType = file.type || 'application/octet-stream'
  const [kind] = mimeType.split('/')
  const type = kind === 'image' || kind === 'audio' || kind === 'video' ? kind : 'document'
  const source = { type: 'data' as const, value: await base64Of(file), mimeType }
  return { type, source, ...('name' in file && { metadata: { filename: String(file.name) } }) }
}

async function base64Of(file: Blob): Promise<string> {
  const bytes = new Uint8Array(await file.arrayBuffer())
  let text = ''
  // In pieces, because a call takes a limited number of arguments.
  for (let i = 0; i < bytes.length; i += 8_192) text += String.fromCharCode(...bytes.subarray(i, i + 8_192))
  return btoa(text)
}
