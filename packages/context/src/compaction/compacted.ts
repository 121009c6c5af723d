import type { Content, FilePart, Json, Message, UserMessage } from '@troupe/kernel'
import { textOf } from '@troupe/kernel'
import { isRecord } from '../is-record.ts'
import { isSummary, type Summary, summaryText } from './summary.ts'

/** Where a history was cut, and what stands in the place of what was before. Contract: plain JSON, kept in the state of the thread. */
export type Compacted = {
  readonly format: 1
  /** The id of the first message that is shown. */
  readonly cut: string
  readonly summary: Summary
  /** The texts of the system messages that the history began with. Contract: shown as a user's words, because clients may write the state. */
  readonly notes?: readonly string[]
  /** The request that the messages after the cut work on, as the person wrote it. */
  readonly request?: Content
}

/** Reads what the state has. Contract: undefined for anything else, because clients may write the state too. */
export function readCompacted(value: Json | undefined): Compacted | undefined {
  if (!isRecord(value) || value.format !== 1 || typeof value.cut !== 'string' || value.cut === '') return undefined
  const { summary, notes = [], request = '' } = value
  const areTexts = Array.isArray(notes) && notes.every((note) => typeof note === 'string')
  const sound = isSummary(summary) && areTexts && isContent(request)
  return sound ? (value as Compacted) : undefined
}

/** Contract: stricter than a model would need it, so that nothing that reads it fails. */
function isContent(content: unknown): boolean {
  return typeof content === 'string' || (Array.isArray(content) && content.every(isPart))
}

function isPart(part: unknown): boolean {
  if (!isRecord(part)) return false
  return part.type === 'file' ? typeof part.mediaType === 'string' : typeof part.text === 'string'
}

/** The id of the message with the summary. */
export function summaryId({ cut }: Compacted): string {
  return `summary:${cut}`
}

/**
 * A history with the summary in the place of what was cut off.
 * Contract: gives the same array if it is so already, and begins with a call if it would begin with its result; a history without the message of the cut, such as one that a rewriter has made, keeps all that it has. System messages that are not in the thread stay, because they are for this run.
 */
export function compactedHistory(
  compacted: Compacted,
  messages: readonly Message[],
  readable: boolean,
  inThread: (message: Message) => boolean = () => true,
): readonly Message[] {
  const id = summaryId(compacted)
  if (messages[0]?.id === id) return messages
  let at = messages.findIndex((message) => message.id === compacted.cut)
  // Another agent has cut here: it sees results of this one as context.
  while (at > 0 && messages[at]?.role === 'tool') at--
  const summary: Message = { id, role: 'user', content: shownContent(compacted, readable) }
  const shown = messages.slice(0, Math.max(at, 0)).filter((message) => message.role === 'system' && !inThread(message))
  return [summary, ...shown, ...messages.slice(Math.max(at, 0))]
}

function shownContent({ summary, notes = [], request }: Compacted, readable: boolean): UserMessage['content'] {
  const lines = [
    '<summary>',
    `The earlier part of this conversation is not shown any more. This is its summary.${readable ? ' The tool read_history finds and reads the original messages.' : ''}`,
    ...(notes.length > 0 ? ['', '## Notes of the application', ...notes] : []),
    '',
    summaryText(summary),
    '</summary>',
  ]
  if (request === undefined) return lines.join('\n')
  const text = [...lines, '', 'This is the request that the messages below work on:', textOf(request)].join('\n')
  const files: readonly FilePart[] = typeof request === 'string' ? [] : request.filter((part) => part.type === 'file')
  return files.length > 0 ? [{ type: 'text', text }, ...files] : text
}
