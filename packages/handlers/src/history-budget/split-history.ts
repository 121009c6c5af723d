import type { Message } from '@troupe/kernel'

/** What a history is split by. */
export interface SplitOptions {
  readonly cost: (message: Message) => number
  /** Tokens to be got rid of. */
  readonly excess: number
  /** How many of the latest messages stay. */
  readonly keepLast: number
  /** The id of an earlier summary, which is no word of the user and goes with what is dropped next. */
  readonly summaryId: string | undefined
}

/** A history in two: what stays, with its system messages at the head apart, and what goes. */
export interface SplitHistory {
  readonly head: readonly Message[]
  readonly kept: readonly Message[]
  /** Oldest first; an earlier summary leads. */
  readonly dropped: readonly Message[]
}

/**
 * Drops the oldest turns whole, then the oldest steps of the last turn, until enough is gone or nothing more can go.
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

/** Where a turn ends that begins here; after the last user message: a step, which is a message with the results of its calls. */
function blockEnd(messages: readonly Message[], from: number, lastUser: number): number {
  let to = from + 1
  while (to < messages.length && !startsBlock(messages, to, lastUser)) to++
  return to
}

function startsBlock(messages: readonly Message[], index: number, lastUser: number): boolean {
  const role = messages[index]?.role
  if (index > lastUser) return role !== 'tool'
  // Words of the application right before a user message belong to it.
  return (role === 'user' || role === 'system') && messages[index - 1]?.role !== 'system'
}
