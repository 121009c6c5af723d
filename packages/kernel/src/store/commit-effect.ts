import type { Json, JsonObject } from '../data/json.ts'
import type { CommittedMessage, ThreadCommit } from './store.ts'

/** A change of one key of the state, with the sequence of the message that it counts for. Contract: a key without a value was removed. */
export interface StateChange {
  readonly seq: number
  readonly key: string
  readonly value: Json | undefined
}

/** What a commit adds to a thread. */
export interface CommitEffect {
  /** The messages that the thread does not have. */
  readonly messages: readonly (Pick<CommittedMessage, 'runId' | 'message'> & { readonly seq: number })[]
  /** The sequence of the last message of the thread. */
  readonly last: number
  /** In order; a key has at most one change for each message. */
  readonly changes: readonly StateChange[]
  /** Contract: an id counts for the message of the commit that has it, and otherwise for the last one. */
  readonly processed: readonly { readonly id: string; readonly seq: number }[]
}

/**
 * Numbers the messages of a commit and says for which message each of its changes counts; 0 is before the first.
 * @example const { messages, changes, last } = commitEffect({ set: { city: 'Rome' } }, 12, () => false)
 */
export function commitEffect(
  commit: ThreadCommit,
  last: number,
  isKnown: (messageId: string) => boolean,
): CommitEffect {
  const messages: CommitEffect['messages'][number][] = []
  const seqs = new Map<string, number>()
  const changes = new Map<string, StateChange>()
  let seq = last
  for (const { runId, message, changes: own } of commit.messages ?? []) {
    if (!seqs.has(message.id) && !isKnown(message.id)) messages.push({ seq: ++seq, runId, message })
    if (!seqs.has(message.id)) seqs.set(message.id, seq)
    if (own) addChanges(changes, own, seq)
  }
  addChanges(changes, commit, seq)
  const processed = [...new Set(commit.processed)].map((id) => ({ id, seq: seqs.get(id) ?? seq }))
  return { messages, last: seq, changes: [...changes.values()], processed }
}

/** The state after changes. */
export function stateAfter(before: JsonObject, changes: readonly StateChange[]): JsonObject {
  if (changes.length === 0) return before
  const state = { ...before }
  for (const { key, value } of changes) {
    if (value === undefined) delete state[key]
    else state[key] = value
  }
  return state
}

function addChanges(
  changes: Map<string, StateChange>,
  { set = {}, removed = [] }: NonNullable<CommittedMessage['changes']>,
  seq: number,
): void {
  for (const [key, value] of Object.entries(set)) changes.set(`${seq} ${key}`, { seq, key, value })
  for (const key of removed) changes.set(`${seq} ${key}`, { seq, key, value: undefined })
}
