import type { JsonObject, Thread, ThreadSummary } from '@troupe/kernel'
import { fromColumn, fromJson } from './column-text.ts'
import type { Tables } from './schema.ts'

/** The columns of a thread in a list. */
export const SUMMARY = [
  'thread_id',
  'seq',
  'version',
  'waiting',
  'unfinished',
  'updated_at',
  'forked_from',
  'forked_at',
  'title',
  'metadata',
] as const
/** The columns of the content of a thread, which may be large. */
export const CONTENT = ['state', 'open_calls', 'checkpoint'] as const

type SummaryRow = Pick<Tables['troupe_threads'], (typeof SUMMARY)[number]> & {
  readonly app: string
  readonly user_id: string
  readonly run_id: string | null
}
type ViewRow = SummaryRow & Pick<Tables['troupe_threads'], (typeof CONTENT)[number]>
/** A row of a thread that is known by its ref. */
export type ThreadColumns = Omit<ViewRow, 'app' | 'user_id' | 'thread_id' | 'run_id'>

/** A thread as callers see it. Contract: the state, which may be large, is read when it is asked for: nobody needs that of a commit. */
export function viewOf(row: ViewRow): Thread {
  let state: JsonObject | undefined
  return {
    ...summaryOf(row),
    get state() {
      state ??= fromJson<JsonObject>(row.state)
      return state
    },
    openCalls: fromJson(row.open_calls),
    ...(row.checkpoint !== null && { checkpoint: fromJson(row.checkpoint) }),
  }
}

/** A thread as lists show it. */
export function summaryOf(row: SummaryRow): ThreadSummary {
  return {
    ref: { app: fromColumn(row.app), user: fromColumn(row.user_id), threadId: fromColumn(row.thread_id) },
    seq: row.seq,
    version: row.version,
    waiting: row.waiting === 1,
    ...(row.run_id !== null && { runId: fromColumn(row.run_id) }),
    ...(row.unfinished !== null && { unfinished: fromColumn(row.unfinished) }),
    ...(row.forked_from !== null && { forkedFrom: forkedFrom(row.forked_from, row.forked_at) }),
    updatedAt: row.updated_at,
    ...(row.title !== null && { title: fromColumn(row.title) }),
    ...(row.metadata !== null && { metadata: fromJson(row.metadata) }),
  }
}

function forkedFrom(thread: string, message: string | null): NonNullable<Thread['forkedFrom']> {
  return { threadId: fromColumn(thread), ...(message !== null && { messageId: fromColumn(message) }) }
}
