import type { RunAgentInput } from '@ag-ui/core'
import { type Content, type ForkPoint, type Json, type Thread, textOf, type UserMessage } from '@troupe/kernel'
import type { Room } from '../input/kernel-content.ts'
import { userMessage } from '../input/sort-messages.ts'
import { filesOf } from '../translate/content.ts'
import { equal } from '../translate/json-patch.ts'
import type { Place } from './place-in-thread.ts'

/** A run without a new message: it answers a user turn of the thread again, or for the first time. */
export interface Again {
  /** Where the thread is cut first; nowhere if its last turn was never answered. */
  readonly cut?: ForkPoint
  /** The message that takes the place of the one that was cut off. */
  readonly users: readonly UserMessage[]
  /** Whether the client shows a message that is cut off. */
  readonly takesBack?: true
}

/**
 * What a request with nothing new asks for; undefined if it asks for nothing.
 * Contract: a list that ends with a user message asks for an answer to it, one that ends with the results of a turn for the answer after them, and one that
 * ends where the thread ends for an answer that is missing there. Anything else is the view of a client that is behind.
 */
export function askedAgain(
  { messages, runId, resume = [] }: Pick<RunAgentInput, 'messages' | 'runId' | 'resume'>,
  place: Place | undefined,
  thread: Thread | undefined,
  room: Room,
): Again | undefined {
  // A request that comes twice has the id of its run again.
  if (!place || !thread || place.runIds.has(runId)) return undefined
  const { last, after, ends } = place
  const edited = editOf(messages, place, room)
  if (edited) return edited
  // Answers that were taken before, and went on: sent twice, they do not ask for another answer.
  if (thread.waiting || (resume.length > 0 && after.length > 0)) return undefined
  if (last.role === 'user' && ends) return after.length === 0 ? { users: [] } : { cut: { at: last.id }, users: [] }
  if (endsWithResults(place)) return { cut: { at: last.id }, users: [] }
  if (after.length > 0 || last.role === 'system') return undefined
  if (last.role !== 'assistant') return { users: [] }
  return last.partial ? { cut: { before: last.id }, users: [], takesBack: true } : undefined
}

/** The user message before the new ones whose content the client has changed under its id, and where the thread is cut for it. */
export function editOf(messages: RunAgentInput['messages'], { last, ends }: Place, room: Room): Again | undefined {
  const given = ends && last.role === 'user' ? messages.findLast(({ id }) => id === last.id) : undefined
  if (given?.role !== 'user') return undefined
  const edited = userMessage(given, room)
  return same(edited.content, last.content) ? undefined : { cut: { before: last.id }, users: [edited] }
}

/** Whether the client shows all results of a turn, and not the answer after them. */
function endsWithResults({ last, after, ends }: Place): boolean {
  return ends && last.role === 'tool' && after[0]?.role === 'assistant'
}

/** The user message of the thread in whose place new ones are, because its client no longer shows it; undefined if they are simply new. */
export function replacedBy(
  { messages }: Pick<RunAgentInput, 'messages'>,
  place: Place | undefined,
): string | undefined {
  const next = place?.after.find(({ role }) => role === 'user')?.id
  return messages.some(({ id }) => id === next) ? undefined : next
}

/** Whether two contents say the same; a client may have the parts of a text as one, and does not get what a provider noted. */
function same(a: Content, b: Content): boolean {
  return textOf(a) === textOf(b) && equal(bareFiles(a), bareFiles(b))
}

function bareFiles(content: Content): Json[] {
  return filesOf(content).map(({ metadata, ...file }) => file)
}
