import type { Thread } from '@troupe/kernel'
import { fromColumn, fromJson } from './column-text.ts'
import type { Tables } from './schema.ts'

/** The columns of a thread view. */
type ViewRow = Pick<
  Tables['troupe_threads'],
  | 'thread_id'
  | 'seq'
  | 'version'
  | 'state'
  | 'open_calls'
  | 'checkpoint'
  | 'unfinished'
  | 'updated_at'
  | 'forked_from'
  | 'forked_at'
> & { readonly app: string; readonly user_id: string; readonly run_id: string | null }

/** A thread as callers see it. */
export function viewOf(row: ViewRow): Thread {
  return {
    ref: { app: fromColumn(row.app), user: fromColumn(row.user_id), threadId: fromColumn(row.thread_id) },
    seq: row.seq,
    version: row.version,
    state: fromJson(row.state),
    openCalls: fromJson(row.open_calls),
    ...(row.checkpoint !== null && { checkpoint: fromJson(row.checkpoint) }),
    ...(row.run_id !== null && { runId: fromColumn(row.run_id) }),
    ...(row.unfinished !== null && { unfinished: fromColumn(row.unfinished) }),
    ...(row.forked_from !== null && { forkedFrom: forkedFrom(row.forked_from, row.forked_at) }),
    updatedAt: row.updated_at,
  }
}

function forkedFrom(thread: string, message: string | null): NonNullable<Thread['forkedFrom']> {
  return { threadId: fromColumn(thread), ...(message !== null && { messageId: fromColumn(message) }) }
}
