import type { Message } from '@troupe/kernel'

/** Options of `splitHistory`. */
interface SplitOptions {
  readonly cost: (message: Message) => number
  /** Tokens to drop. */
  readonly excess: number
  /** How many of the latest messages stay. */
  readonly keepLast: number
  /** The id of an earlier summary: it does not count as a user message, and is dropped with the next messages. */
  readonly summaryId: string | undefined
}

/** A history in parts: system messages at the head, messages that stay, and messages that are dropped. */
interface SplitHistory {
  readonly head: readonly Message[]
  readonly kept: readonly Message[]
  /** Oldest first; begins with an earlier summary, if any. */
  readonly dropped: readonly Message[]
}

/**
 * Drops the oldest exchanges (a user message and all that follows it) whole, then the oldest turns of the last one, until enough is dropped or nothing more may be.
 * Contract: a call stays with its results; system messages at the head, the last user message and the last messages stay.
 */
export function splitHistory(messages: readonly Message[], options: SplitOptions): SplitHistory | undefined {
  const { cost, excess, keepLast, summaryId } = options
  let headEnd = 0
  while (messages[headEnd]?.role === 'system') headEnd++
  const hasSummary = summaryId !== undefined && messages[headEnd]?.id === summaryId
  const start = hasSummary ? headEnd + 1 : headEnd
  const lastUser = messages.findLastIndex((message) => message.role === 'user' && message.agentName === undefined)
  const kept: Message[] = []
  const dropped: Message[] = []
  let gone = 0
  for (let from = start; from < messages.length && gone < excess; ) {
    const to = blockEnd(messages, from, lastUser)
    const stays = (from <= lastUser && lastUser < to) || to > messages.length - keepLast
    const side = stays ? kept : dropped
    for (const message of messages.slice(from, to)) {
      side.push(message)
      if (!stays) gone += cost(message)
    }
    from = to
  }
  if (dropped.length === 0) return undefined
  const rest = messages.slice(start + kept.length + dropped.length)
  return {
    head: messages.slice(0, headEnd),
    kept: kept.concat(rest),
    dropped: messages.slice(headEnd, start).concat(dropped),
  }
}

/** The end of the block that begins at `from`: a whole exchange, or a turn after the last user message. */
function blockEnd(messages: readonly Message[], from: number, lastUser: number): number {
  let to = from + 1
  while (to < messages.length && !startsBlock(messages, to, lastUser)) to++
  return to
}

function startsBlock(messages: readonly Message[], index: number, lastUser: number): boolean {
  const role = messages[index]?.role
  if (index > lastUser) return role !== 'tool'
  // A system message right before a user message belongs to it.
  return (role === 'user' || role === 'system') && messages[index - 1]?.role !== 'system'
}
