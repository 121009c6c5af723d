import type { Interrupt } from '../data/action.ts'
import type { CancelMode, CancelRequest } from '../data/cancel.ts'
import type { FinishReason, Outcome } from '../data/event.ts'
import type { Json, JsonObject } from '../data/json.ts'
import type { ErrorInfo } from '../data/kernel-error.ts'
import type { Message, Usage } from '../data/message.ts'
import type { Owner, ThreadRef } from '../data/thread-ref.ts'
import type { BlobStore } from './blob-store.ts'
import type { CounterStore } from './counter-store.ts'
import type { FactStore } from './fact-store.ts'
import type { GrantStore } from './grant-store.ts'

/** A page request. Contract: order is by sequence, never by clock. */
export interface Page {
  /** The `seq` of the last item seen; the page begins after it. */
  readonly after?: number
  /** @default 100 */
  readonly limit?: number
  /** Reverses the order: the page has items older than `after`. @default false */
  readonly newestFirst?: boolean
}

/**
 * All ports; a plugin asks for the ones it uses: `Pick<Store, 'threads' | 'leases'>`.
 * Contract: arguments are checked by the rules of `@troupe/kernel/store` before anything is read or written, and a malformed one is
 * `VALIDATION_FAILED`; messages, results, events, entries of a journal and checkpoints are JSON by their types, so nobody walks them. A disposed store is `STORE_CLOSED`.
 */
export interface Store extends AsyncDisposable {
  readonly threads: ThreadStore
  readonly records: RecordStore
  readonly runLog: RunLogStore
  readonly journal: JournalStore
  readonly leases: LeaseStore
  readonly grants: GrantStore
  /** A plugin that needs it refuses a store without it. */
  readonly counters?: CounterStore
  /** As `counters`. */
  readonly facts?: FactStore
  /** Absent in stores that keep no large texts. */
  readonly blobs?: BlobStore
}

/** A store with every port and method, as those of Troupe are; what came later is optional in `Store`. */
export interface FullStore extends Store {
  readonly counters: CounterStore
  readonly facts: FactStore
  readonly threads: Required<ThreadStore>
  readonly records: Required<RecordStore>
  readonly blobs: BlobStore
}

/** A conversation in a list: where it is and what goes on in it, without its content. */
export interface ThreadSummary {
  readonly ref: ThreadRef
  /** Its place in the owner's list. Contract: assigned by the store when the thread is opened. */
  readonly seq: number
  /** Grows with each commit. */
  readonly version: number
  /** Whether it waits for the result of a call or the answer to a question, as `isWaiting` says. */
  readonly waiting: boolean
  /** The run that holds the lease, for a page that was reloaded. */
  readonly runId?: string
  /** The run whose steps are in the journal: it is under way, or its process is gone. */
  readonly unfinished?: string
  /** Of a branch: the thread that it was made of, and the last message that it shares with it; none if it shares none. */
  readonly forkedFrom?: { readonly threadId: string; readonly messageId?: string }
  readonly updatedAt: number
  /** What people call it. */
  readonly title?: string
  /** What an app notes about it. */
  readonly metadata?: JsonObject
}

/** What a thread is called and what an app notes about it; missing fields stay as they are, `null` removes one. */
export interface ThreadLabel {
  /** Contract: not empty, at most `MAX_TITLE` characters. */
  readonly title?: string | null
  /** Contract: plain JSON of at most `MAX_METADATA` characters; replaced as a whole. */
  readonly metadata?: JsonObject | null
}

/** A conversation. */
export interface Thread extends ThreadSummary {
  readonly state: JsonObject
  /** Calls of long-running tools that await their result, with the agent that asked. */
  readonly openCalls: readonly { readonly callId: string; readonly name: string; readonly agentName: string }[]
  /** The checkpoint for `resume`. */
  readonly checkpoint?: Checkpoint
}

/** The state of an interrupted run. Contract: versioned JSON, checked on load. */
export type Checkpoint = {
  readonly format: number
  readonly runId: string
  readonly agentName: string
  readonly interrupts: readonly Interrupt[]
  readonly state: Json
  /** User messages that came with earlier answers. Contract: they enter the thread after the results of the calls that run again. */
  readonly next?: readonly Message[]
  /** The run that took the answers. Contract: if it has not ended, its effects are unknown and are not repeated. */
  readonly resumedBy?: string
}

/** A message of a commit. */
export interface CommittedMessage {
  readonly runId: string
  readonly message: Message
  /** What has changed in the state up to this message, since the one before. */
  readonly changes?: { readonly set?: JsonObject; readonly removed?: readonly string[] }
}

/** One atomic change of a thread; missing fields stay as they are. Contract: a message that the thread has is left out, its changes are not. */
export interface ThreadCommit {
  /** What has changed in the state after the last message; counts for the last message of the thread. */
  readonly set?: JsonObject
  readonly removed?: readonly string[]
  readonly messages?: readonly CommittedMessage[]
  readonly openCalls?: Thread['openCalls']
  readonly checkpoint?: Checkpoint | null
  /** Foreign message ids that must not be processed again. */
  readonly processed?: readonly string[]
  /** Begins the journal of a run in place of any other, or removes the journal with `null`. */
  readonly journal?: { readonly runId: string; readonly entries: readonly Json[] } | null
  /** Releases the lease with the commit. */
  readonly release?: true
}

/** Where a thread branches: `at` is the last message that the branch has, `before` the first that it does not have. */
export type ForkPoint =
  | { readonly at: string; readonly before?: undefined }
  | { readonly before: string; readonly at?: undefined }

/** Conversations and their state. */
export interface ThreadStore {
  get(ref: ThreadRef): Promise<Thread | undefined>
  /** Contract: get or create, without a race. */
  open(ref: ThreadRef): Promise<Thread>
  /** Contract: one transaction; the lease token is checked in it (`LEASE_LOST`). A commit that has released its lease may be repeated, because its outcome may be unknown: it changes nothing and gives the thread, until another commit releases the next lease. */
  commit(ref: ThreadRef, commit: ThreadCommit, token: number): Promise<Thread>
  /** Model messages and tool results, in order. */
  messages(
    ref: ThreadRef,
    page?: Page,
  ): Promise<readonly { readonly seq: number; readonly runId: string; readonly message: Message }[]>
  /** Returns those of these ids that messages of the thread have. Contract: takes the time of a look-up, however long the thread is. A runner that shows a window of the history reads the whole thread if a store lacks it. */
  known?(ref: ThreadRef, messageIds: readonly string[]): Promise<readonly string[]>
  /** Returns those of these foreign ids that have been processed. */
  processed(ref: ThreadRef, ids: readonly string[]): Promise<readonly string[]>
  /** The threads of an owner. Contract: neither reads nor gives state, open calls or checkpoints, which may be large. */
  list(owner: Owner, page?: Page): Promise<readonly ThreadSummary[]>
  /** The threads of an owner by their last change, the latest first, as `list` gives them. Contract: `after` is the last thread of the page before, by value; a thread that changes while pages are read comes first from then on. */
  recent?(
    owner: Owner,
    page?: { readonly limit?: number; readonly after?: Pick<ThreadSummary, 'seq' | 'updatedAt'> },
  ): Promise<readonly ThreadSummary[]>
  /** Names a thread, or notes something about it. Contract: takes no lease and does not change the conversation: `version` and `updatedAt` stay. `NOT_FOUND` for an unknown thread. */
  label?(ref: ThreadRef, label: ThreadLabel): Promise<ThreadSummary>
  /**
   * Makes a branch: a thread `to` of the same owner with the messages up to a point, and the state and processed ids as they were there.
   * Contract: takes no lease and reads what is committed. The branch has the ids, runs and sequences of the messages that it shares, title and metadata, and
   * nothing else of its source; what one of them commits later the other does not see. `NOT_FOUND` for an unknown thread or message;
   * `THREAD_ID_TAKEN` if `to` exists or is leased. The id of a deleted thread is free, as for `open`.
   */
  fork(ref: ThreadRef, request: ForkPoint & { readonly to: string }): Promise<Thread>
  /**
   * Cuts a thread: its name stays with the messages up to a point, as a branch; all that it was has the name `to` from then on.
   * Contract: one transaction; the lease token is checked in it (`LEASE_LOST`), and the lease stays with the name `ref`. What a branch does not
   * have, such as questions, the journal, records and run logs, is in `to`, which keeps its place in the list; the branch is a new thread there.
   * Otherwise as `fork`.
   */
  cut(ref: ThreadRef, request: ForkPoint & { readonly to: string }, token: number): Promise<Thread>
  /** Contract: deletes all data of the thread; late writes cannot undo it; branches keep the messages and the state that they share with it. */
  delete(ref: ThreadRef): Promise<boolean>
  /** Maintenance, across owners: threads without a lease that have not changed since `before`, oldest first, as `list` gives them. Contract: threads of one moment come in an order of the store's own, so that `after`, the last thread of the page before, is a cursor; it may be gone. */
  idle(query: {
    readonly before: number
    readonly limit: number
    readonly after?: Pick<ThreadSummary, 'ref' | 'updatedAt'>
  }): Promise<readonly ThreadSummary[]>
}

/** A run as a row. Contract: `runId` is unique for its owner. */
export type RunRecord = {
  readonly runId: string
  readonly parentRunId?: string
  readonly agentName: string
  readonly seq: number
  readonly status: 'generating' | Outcome
  readonly text: string
  readonly usage?: Usage
  readonly error?: ErrorInfo
  readonly startedAt: number
  readonly endedAt?: number
}

/** A tool call as a row, by call id. */
export type ToolCallRecord = {
  readonly callId: string
  readonly runId: string
  readonly messageId: string
  readonly name: string
  readonly arguments: string
  readonly status: 'running' | 'awaiting' | 'interrupted' | 'complete' | 'failed' | 'unknown'
  readonly result?: Json
  /** How many times it was tried, if more than once. */
  readonly attempts?: number
  readonly startedAt: number
  readonly endedAt?: number
}

/** A model call as a row, by span: its tokens and their purpose. */
export type ModelCallRecord = {
  readonly spanId: string
  readonly runId: string
  readonly model: string
  readonly usage: Usage
  readonly finishReason?: FinishReason
  /** The message that it wrote. */
  readonly messageId?: string
  /** The message that the run answers. */
  readonly requestId?: string
}

/** An attempt to carry out a root run. */
export type RunAttempt = { readonly runId: string; readonly attempt: number }

/** A write of the lifecycle records. */
export type RecordCommand = RecordChange & {
  /** The attempt that writes it. Contract: refused once the root run has begun again with a higher one. */
  readonly by?: RunAttempt
}

type RecordChange =
  | { readonly type: 'run-start'; readonly run: Omit<RunRecord, 'seq' | 'status' | 'text'> }
  /** Contract: replaces the text from `offset` on, counted in UTF-16 units; beyond its end it is refused. */
  | { readonly type: 'run-text'; readonly runId: string; readonly offset: number; readonly text: string }
  | {
      readonly type: 'run-finish'
      readonly runId: string
      readonly status: Outcome
      readonly usage?: Usage
      readonly error?: ErrorInfo
      readonly endedAt: number
    }
  | { readonly type: 'tool-call'; readonly call: ToolCallRecord }
  | ({ readonly type: 'usage' } & ModelCallRecord)

/** Runs, tool calls and usage. */
export interface RecordStore {
  /** Contract: in order, one transaction, idempotent; a command for a finished run is refused, and so is one of an attempt that another has replaced; `seq` is assigned in the insert. The start of a run that failed and that its thread names as unfinished opens its record again. */
  apply(
    ref: ThreadRef,
    commands: readonly RecordCommand[],
  ): Promise<readonly { readonly runId: string; readonly seq?: number; readonly refused?: true }[]>
  runs(ref: ThreadRef, page?: Page): Promise<readonly RunRecord[]>
  toolCalls(ref: ThreadRef, runId: string): Promise<readonly ToolCallRecord[]>
  /** The model calls of a run, in the order they were written in. */
  modelCalls(ref: ThreadRef, runId: string): Promise<readonly ModelCallRecord[]>
  /** The sum of all model calls of a thread. */
  usage(ref: ThreadRef): Promise<Usage>
  /** Maintenance, across owners: runs still `generating`, oldest first. */
  open(query: {
    readonly before: number
    readonly limit: number
  }): Promise<readonly (RunRecord & { readonly ref: ThreadRef })[]>
  /** Maintenance, across owners: deletes runs that ended before `before`, with their tool calls and model calls, oldest first. Contract: keeps the runs of a thread with an unfinished run, and those with a call that is running or waits; sequences are not given again. Gives how many were deleted, at most `limit`; `apps` are those whose runs are meant. */
  prune?(query: { readonly before: number; readonly limit: number; readonly apps?: readonly string[] }): Promise<number>
}

/** An entry of a run log: an event, or what a compacted log has in place of the events after the entry before it, up to its `seq`. */
export type LogEntry = { readonly seq: number; readonly event: Json }

/** The events of a run as they were shown. */
export interface RunLogStore {
  /**
   * Contract: `after` is the last sequence the writer knows; another writer or a closed log is `VERSION_CONFLICT`. `texts` are the same events as JSON,
   * one for each: a store that keeps text may write them as they are, any other ignores them. A process that is killed loses nothing of it; a machine or
   * a database server that breaks down may take the last second along, of the end of a log only.
   */
  append(
    ref: ThreadRef,
    runId: string,
    after: number,
    events: readonly Json[],
    close?: boolean,
    texts?: readonly string[],
  ): Promise<number>
  /** Contract: gives the stored events, then live ones, in batches of limited size, from any process; ends when the log is closed, and without an error when the signal aborts, which is the way to stop waiting; `NOT_FOUND` if there is no log. A compacted log gives every entry whose `seq` is after the cursor, also to a follower that has begun before: it may have a part of what the first one stands for. */
  follow(
    ref: ThreadRef,
    runId: string,
    options: { readonly after?: number; readonly live?: boolean; readonly signal: AbortSignal },
  ): AsyncIterable<readonly LogEntry[]>
  /** Puts fewer entries in the place of all events of a closed log. Contract: one transaction, once for each log; false, and nothing changes, if there is no log, or it is open, was compacted before, or has another last sequence than the entries. */
  compact(ref: ThreadRef, runId: string, entries: readonly LogEntry[]): Promise<boolean>
  /** Maintenance, across owners: deletes logs that were closed before `before`, and those that were begun before and that nobody writes any more: their run neither holds the lease of the thread nor is unfinished; oldest first. Contract: gives how many were deleted, at most `limit`; `apps` are those whose logs are meant. */
  prune(query: { readonly before: number; readonly limit: number; readonly apps?: readonly string[] }): Promise<number>
}

/** A run whose process is gone. */
export type LostRun = {
  readonly ref: ThreadRef
  readonly runId: string
  /** When its journal was last written. */
  readonly at: number
}

/** The steps of the run of each thread that has not ended. */
export interface JournalStore {
  /** Contract: one transaction; the lease token is checked in it (`LEASE_LOST`); `NOT_FOUND` unless the journal of the thread belongs to this run; the thread does not change. A retry whose first attempt had an unknown outcome may write its entries twice. */
  append(ref: ThreadRef, runId: string, entries: readonly Json[], token: number): Promise<void>
  /** The journal of the run that has not ended, its entries in the order they were written in; undefined if there is none. */
  read(ref: ThreadRef): Promise<{ readonly runId: string; readonly entries: readonly Json[] } | undefined>
  /** Maintenance, across owners: runs with a journal that was not written since `before`, in threads without a live lease, oldest first. */
  lost(query: { readonly before: number; readonly limit: number }): Promise<readonly LostRun[]>
}

/** Leases: the right to write to a thread. */
export interface LeaseStore {
  /** Contract: `THREAD_BUSY` with the holder in `details`; taking over an expired lease finishes the former holder's run as failed (`LEASE_LOST`), or as cancelled if that was asked, and its running calls as unknown in the same transaction, unless the same run takes it and goes on, or the end of the run is in the thread (it has the last message, and no journal). A run that the thread names as unfinished gets the cancel that was asked of it before. A holder that `begins` is `RUN_ID_TAKEN` if a run of its owner has begun with this id in another thread, or in any with an id above or below it (`runIdsAbove`); a deleted thread frees its ids, except those of runs with messages that a branch keeps. `fresh` says that no run has begun with the id in this thread either. A holder that comes `again` takes the lease of its own run although it is live, and the cancel that was asked of it: the host that carries the run out has given up the process before, which has lost the lease. */
  acquire(
    ref: ThreadRef,
    holder: {
      readonly runId: string
      readonly ttlMs: number
      readonly begins?: boolean
      readonly again?: boolean
    },
  ): Promise<{
    readonly token: number
    readonly cancel?: CancelMode
    readonly fresh?: true
    /** The thread as `get` gives it under the new lease, from a store that reads it in the same round trip. Contract: `null` if there is none yet; if it is absent, the holder asks. */
    readonly thread?: Thread | null
  }>
  /** Contract: throws `LEASE_LOST`; returns the cancel request, if there is one. */
  renew(ref: ThreadRef, token: number, ttlMs: number): Promise<{ readonly cancel?: CancelMode }>
  release(ref: ThreadRef, token: number): Promise<void>
  /** Contract: false if nothing runs there, or another run than the one meant; the cancel of a run with a journal is kept as long as that. */
  requestCancel(ref: ThreadRef, request: CancelRequest): Promise<boolean>
}

/** Receives a conversation when it is forgotten. */
export interface Memory {
  add(ref: ThreadRef, messages: AsyncIterable<Message>): Promise<void>
}
