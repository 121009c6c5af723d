import type { ThreadRef } from '@troupe/kernel'
import type { StatementMoment, StoreAddress } from '../store/open-store.ts'

/** The thread of every case; each case has its own store. */
export const REF: ThreadRef = { app: 'faults', user: 'ann', threadId: 'thread' }

/** What a worker process has to do; plain JSON, because it is passed as an argument. */
export interface WorkerTask {
  readonly address: StoreAddress
  readonly ref: ThreadRef
  /** The file for the effects of tools. */
  readonly effects: string
  /** The prefix of its run ids. */
  readonly name: string
  readonly seed: number
  readonly signalAt?: SignalPoint
}

/** The point at which a worker sends itself a signal: at the nth call or statement, or at the nth one with this name. */
export interface SignalPoint {
  readonly by: 'call' | 'statement'
  readonly name?: string
  readonly number: number
  readonly moment: StatementMoment
  readonly signal: 'SIGKILL' | 'SIGSTOP'
  /** Counts only while a run holds the thread and has stored nothing. */
  readonly holding?: true
}
