import { type Content, type Message, textOf } from '@troupe/kernel'
import { estimateTokens } from '@troupe/kernel/history'
import { type Compacted, summaryId } from './compacted.ts'

/** A history in two parts: what is cut off, and what stays. */
export interface SplitHistory {
  /** The texts of the system messages that the history began with. */
  readonly notes: readonly string[]
  /** Contract: without the message of the former summary. */
  readonly past: readonly Message[]
  /** Contract: has at least one message. */
  readonly cut: string
  /** The last request of a person, if it is cut off. */
  readonly request: Content | undefined
}

/**
 * Finds where to cut a history, so that about `keep` tokens stay.
 * Contract: a call stays with its results, because the part that stays begins with any message but a result; the last turn stays whatever it takes. Undefined if there is nothing to cut off.
 */
export function splitHistory(
  messages: readonly Message[],
  former: Compacted | undefined,
  keep: number,
): SplitHistory | undefined {
  const hasSummary = former && messages[0]?.id === summaryId(former)
  const begins = messages.findIndex(({ role }) => role !== 'system')
  const start = hasSummary ? 1 : Math.max(begins, 0)
  let cut: number | undefined
  let tokens = 0
  for (let i = messages.length - 1; i >= start; i--) {
    const message = messages[i] as Message
    tokens += estimateTokens(message)
    if (cut !== undefined && tokens > keep) break
    if (message.role !== 'tool') cut = i
  }
  const first = cut === undefined ? undefined : messages[cut]
  if (cut === undefined || first === undefined || cut <= start) return undefined
  const past = messages.slice(start, cut)
  const notes = hasSummary ? former.notes : messages.slice(0, start).map(({ content }) => textOf(content))
  return {
    notes: notes ?? [],
    past,
    cut: first.id,
    request: requestOf(past, messages.slice(cut), hasSummary ? former : undefined),
  }
}

/** The last request of a person before the cut, unless a later one stays. */
function requestOf(
  past: readonly Message[],
  recent: readonly Message[],
  former: Compacted | undefined,
): Content | undefined {
  const asks = (message: Message) => message.role === 'user' && message.agentName === undefined
  if (recent.some(asks)) return undefined
  return past.findLast(asks)?.content ?? former?.request
}
