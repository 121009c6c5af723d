import type { StoreAddress } from '../store/open-store.ts'

/** What a server process has to do; plain JSON, because it is passed as an argument. */
export interface ReplicaTask {
  readonly address: StoreAddress
  /** The file for the effects of tools. */
  readonly effects: string
  /** How long its threads stay leased when it is gone. */
  readonly leaseMs: number
  /** How long its tools and its model wait at each step. */
  readonly pauseMs: number
  /** How long its store waits for locks of others; one statement may take twice as long. */
  readonly busyTimeoutMs: number
  /** The moment at which it stops itself with SIGSTOP. */
  readonly freezeAt?: FreezePoint
}

/** In the nth effect of a tool, after the nth statement that writes, or after the nth that notes a step in the journal. */
export interface FreezePoint {
  readonly in: 'tool' | 'statement' | 'step'
  readonly number: number
}

/** What a server process tells its parent. */
export type ReplicaMessage =
  | { readonly type: 'ready'; readonly url: string }
  /** It is about to stop itself. */
  | { readonly type: 'freezes'; readonly at: string }
  | { readonly type: 'report'; readonly code: string }

/** What a parent asks of a server process: that its clock is wrong by this much. */
export interface ClockMessage {
  readonly clockOffsetMs: number
}
