import type { ThreadRef } from '@troupe/kernel'
import type { Place, StatementMoment } from '../store/open-store.ts'

/** The thread of every case; each has a store of its own. */
export const REF: ThreadRef = { app: 'faults', user: 'ann', threadId: 'thread' }

/** What a worker is told to do. */
export interface Order {
  readonly place: Place
  readonly ref: ThreadRef
  readonly effects: string
  /** In front of the ids of its runs. */
  readonly name: string
  readonly seed: number
  readonly hit?: Hit
}

/** Where a worker hits itself: at the so-manieth call or statement, of those with a name if there is one. */
export interface Hit {
  readonly by: 'call' | 'statement'
  readonly name?: string
  readonly number: number
  readonly moment: StatementMoment
  readonly signal: 'SIGKILL' | 'SIGSTOP'
  /** Counts only while a run holds the thread and has stored nothing. */
  readonly holding?: true
}
