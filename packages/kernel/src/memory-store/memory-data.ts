import type { CancelMode } from '../data/cancel.ts'
import type { Json } from '../data/json.ts'
import type { Message } from '../data/message.ts'
import type { Owner, ThreadRef } from '../data/thread-ref.ts'
import type { StateChange } from '../store/commit-effect.ts'
import type { Fact } from '../store/fact-store.ts'
import type { Grant } from '../store/grant-store.ts'
import { isLive } from '../store/lease.ts'
import { storeClosed } from '../store/refusals.ts'
import type { ModelCallRecord, Page, RunRecord, Thread, ToolCallRecord } from '../store/store.ts'

/** The name in error messages. */
export const WHO = 'memoryStore'

/** Everything one memory store holds. Contract: each port method changes it in one synchronous step, after all its checks. */
export interface MemoryData {
  readonly now: () => number
  readonly owners: Map<string, OwnerData>
  /** The last lease token given; never restarts, so that an old token matches no later lease. */
  token: number
  /** The last id given to a grant. */
  grant: number
  closed: boolean
}

/** The data of one app and user. */
export interface OwnerData {
  readonly key: string
  /** The last thread sequence given; a deleted thread's place stays empty, so that cursors stay right. */
  seq: number
  readonly threads: Map<string, ThreadData>
  /** By thread id; a lease may be older than its thread. */
  readonly leases: Map<string, Lease>
  /** The thread of each run that has begun. */
  readonly begun: Map<string, string>
  /** Those of them whose ids could be nested in another's: they have a slash. */
  readonly begunBelow: Set<string>
  /** The ids of all recorded runs, to keep one id out of two threads. */
  readonly runIds: Set<string>
  /** Oldest first. */
  readonly grants: OwnedGrant[]
  readonly counters: Map<string, { readonly value: number; readonly expiresAt: number }>
  /** The last sequence given to a fact. */
  factSeq: number
  /** Oldest first. */
  readonly facts: { readonly fact: Fact; readonly embedding: Float32Array | undefined }[]
}

/** A grant with its thread itself, whose name may change. */
export type OwnedGrant = Pick<Grant, 'id' | 'agent' | 'tool' | 'at'> & {
  readonly rule: string | undefined
  readonly thread: ThreadData | undefined
}

/** A thread with all its data. */
export interface ThreadData {
  thread: Thread
  /** An array, because a page must be a slice of a long conversation. */
  readonly messages: { readonly seq: number; readonly runId: string; readonly message: Message }[]
  readonly messageIds: Set<string>
  /** How the state came about, in order. */
  readonly changes: StateChange[]
  /** Foreign ids, each with the sequence of the message that it counts for. */
  readonly processed: Map<string, number>
  /** Large texts by id, in order, each with the sequence of the last message that was there before it: the last one counts, but a branch may share an earlier one. */
  readonly blobs: Map<string, { readonly seq: number; readonly text: string }[]>
  readonly runs: Map<string, RunRecord>
  /** The last sequence given to a run. */
  runSeq: number
  /** By root run: the highest attempt that has begun it. */
  readonly attempts: Map<string, number>
  readonly calls: Map<string, ToolCallRecord>
  /** By span id. */
  readonly modelCalls: Map<string, ModelCallRecord>
  readonly logs: Map<string, Log>
  journal?: Journal | undefined
  /** The token of the last lease that a commit has released. */
  released?: number
}

/** The lease of a thread. */
export interface Lease {
  readonly token: number
  readonly runId: string
  expiresAt: number
  cancel?: CancelMode
}

/** The events of one run; sequence n is at index n - 1 until it is compacted. */
export interface Log {
  events: Json[]
  /** The sequences of a compacted log. */
  seqs?: readonly number[]
  /** The last sequence. */
  last: number
  closed: boolean
  /** When it was begun or closed. */
  at: number
  /** Deleted or disposed: followers end at once. */
  gone: boolean
  readonly waiting: Set<() => void>
}

/** The journal of the run that has not ended. */
export interface Journal {
  readonly runId: string
  readonly entries: Json[]
  /** When it was last written. */
  at: number
  /** The cancel that was asked of the run. */
  cancel?: CancelMode
}

/** Finds the data of an owner; an unknown owner gets an empty record that is not stored yet. */
export function findOwner(data: MemoryData, { app, user }: Owner): OwnerData {
  refuseClosed(data)
  // The length tells where the app ends, so that no two owners share a key; JSON would take five times as long.
  const key = `${app.length} ${app}${user}`
  return (
    data.owners.get(key) ?? {
      key,
      seq: 0,
      threads: new Map(),
      leases: new Map(),
      begun: new Map(),
      begunBelow: new Set(),
      runIds: new Set(),
      grants: [],
      counters: new Map(),
      factSeq: 0,
      facts: [],
    }
  )
}

/** Finds a thread's row and lease with its owner; `live` is the lease unless it has expired. */
export function findThread(
  data: MemoryData,
  ref: ThreadRef,
): {
  readonly owner: OwnerData
  readonly row: ThreadData | undefined
  readonly lease: Lease | undefined
  readonly live: Lease | undefined
} {
  const owner = findOwner(data, ref)
  const lease = owner.leases.get(ref.threadId)
  const live = lease && isLive(lease, data.now()) ? lease : undefined
  return { owner, row: owner.threads.get(ref.threadId), lease, live }
}

/** Adds a thread without any data. */
export function addThread(data: MemoryData, owner: OwnerData, { app, user, threadId }: ThreadRef): ThreadData {
  data.owners.set(owner.key, owner)
  const seq = ++owner.seq
  const row: ThreadData = {
    thread: {
      ref: { app, user, threadId },
      seq,
      version: 0,
      state: {},
      openCalls: [],
      waiting: false,
      updatedAt: data.now(),
    },
    messages: [],
    messageIds: new Set(),
    changes: [],
    processed: new Map(),
    blobs: new Map(),
    runs: new Map(),
    runSeq: 0,
    calls: new Map(),
    attempts: new Map(),
    modelCalls: new Map(),
    logs: new Map(),
  }
  owner.threads.set(threadId, row)
  return row
}

/** All threads of all owners. */
export function allThreads(data: MemoryData): ThreadData[] {
  return [...data.owners.values()].flatMap(({ threads }) => [...threads.values()])
}

/** Throws `STORE_CLOSED` once the store was disposed. */
export function refuseClosed({ closed }: MemoryData): void {
  if (closed) throw storeClosed(WHO)
}

/** One page of rows in order of `seq`. */
export function pageOf<T extends { readonly seq: number }>(rows: readonly T[], page: Required<Page>): T[] {
  const { newestFirst, limit, after } = page
  let low = 0
  for (let high = rows.length; low < high; ) {
    const middle = (low + high) >> 1
    const { seq } = rows[middle] as T
    if (newestFirst ? seq < after : seq <= after) low = middle + 1
    else high = middle
  }
  return newestFirst ? rows.slice(Math.max(0, low - limit), low).reverse() : rows.slice(low, low + limit)
}

/** Answers a maintenance query: rows older than `before`, oldest first. */
export function olderThan<Key extends string, T extends { readonly [key in Key]: number }>(
  { before, limit }: { readonly before: number; readonly limit: number },
  key: Key,
  rows: T[],
): T[] {
  return rows
    .filter((row) => row[key] < before)
    .sort((a, b) => a[key] - b[key])
    .slice(0, limit)
}

/** Wakes the followers of a log. */
export function wake(log: Log): void {
  for (const resume of log.waiting) resume()
}

/** Ends the followers of a log. */
export function endLog(log: Log): void {
  log.gone = true
  wake(log)
}

/** Ends the followers of a thread's logs. */
export function endLogs(row: ThreadData): void {
  for (const log of row.logs.values()) endLog(log)
}
