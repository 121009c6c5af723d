import { type Content, type Message, textOf } from '@troupe/kernel'
import { estimateTokens } from '@troupe/kernel/history'
import { type Compacted, summaryId } from './compacted.ts'

/** A history in two parts: what is cut off, and what stays. */
export interface SplitHistory {
  /** The texts of the system messages that the history began with. */
  readonly notes: readonly string[]
  /** Contract: without the message of the former summary, and without system messages for this run alone. */
  readonly past: readonly Message[]
  /** Contract: the id of a message that the thread has, so that the next run finds it. */
  readonly cut: string
  /** The last request of a person, if it is cut off and no later one stays. */
  readonly request: Content | undefined
}

/**
 * Finds where to cut a history, so that about `keep` tokens stay.
 * Contract: a call stays with its results, because the part that stays begins with any message but a result; the last turn stays whatever it takes. What is not in the thread is shown for this run alone: no cut, no note and no request. Undefined if there is nothing to cut off.
 */
export function splitHistory(
  messages: readonly Message[],
  former: Compacted | undefined,
  keep: number,
  inThread: (message: Message) => boolean = () => true,
): SplitHistory | undefined {
  const hasSummary = former && messages[0]?.id === summaryId(former)
  const begins = messages.findIndex(({ role }) => role !== 'system')
  const start = hasSummary ? 1 : Math.max(begins, 0)
  const cut = placeOfCut(messages, start, keep, inThread)
  const first = cut === undefined ? undefined : messages[cut]
  if (cut === undefined || first === undefined) return undefined
  const past = messages.slice(start, cut).filter((message) => message.role !== 'system' || inThread(message))
  if (past.length === 0) return undefined
  const head = messages.slice(0, start).filter(inThread)
  const kept = hasSummary ? former : undefined
  const asks = (message: Message) => message.role === 'user' && message.agentName === undefined && inThread(message)
  return {
    notes: kept ? (kept.notes ?? []) : head.map(({ content }) => textOf(content)),
    past,
    cut: first.id,
    request: messages.slice(cut).some(asks) ? undefined : (past.findLast(asks)?.content ?? kept?.request),
  }
}

/** The place of the message that is to be the first one shown. */
function placeOfCut(
  messages: readonly Message[],
  start: number,
  keep: number,
  inThread: (message: Message) => boolean,
): number | undefined {
  let cut: number | undefined
  let tokens = 0
  for (let i = messages.length - 1; i >= start; i--) {
    const message = messages[i] as Message
    tokens += estimateTokens(message)
    if (cut !== undefined && tokens > keep) break
    if (message.role !== 'tool' && inThread(message)) cut = i
  }
  return cut
}
