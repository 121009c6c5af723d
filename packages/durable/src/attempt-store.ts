import type { CancelMode, Json, Store, Thread, ThreadCommit, ThreadRef } from '@troupe/kernel'
import type { JournalEntry } from '@troupe/kernel/journal'
import { commitEffect, harderCancel, stateAfter } from '@troupe/kernel/store'
import { whileAlive } from './given-up.ts'
import type { RunOrder } from './run-order.ts'

/** The ports of a store that the runner of an attempt uses. */
export type RunnerPorts = Pick<Store, 'threads' | 'leases' | 'journal'>

/** What the engine has recorded of the steps of a run, in order; a handover says that nothing was under way there. */
export type StepEntry = { readonly steps: readonly JournalEntry[] } | { readonly handover: true }

/** What is left to do when the agents have ended. */
export type Ending = { readonly commits: readonly ThreadCommit[]; readonly token: number }

interface AttemptStoreParts {
  readonly store: RunnerPorts
  readonly order: RunOrder
  /** The steps of earlier attempts. */
  readonly recorded: readonly StepEntry[]
  /** Records steps. */
  readonly record: (steps: readonly JournalEntry[]) => Promise<void>
  readonly gone: AbortSignal
  /** Whether an earlier attempt has opened the thread. */
  readonly opened: boolean
  /** What was asked of the run before it had its thread. */
  readonly asked: () => CancelMode | undefined
  /** Stops a run that has begun. */
  readonly cancel: (mode: CancelMode) => void
}

/**
 * The store as the runner of one attempt sees it: its steps go to the engine, and the commits with which the run ends wait until the engine has
 * recorded them.
 * Contract: an attempt that was given up stands still at its next use of the store; an attempt takes the lease from the one before, so that
 * nothing that it writes counts any more.
 */
export class AttemptStore {
  readonly #parts: AttemptStoreParts
  #thread: Thread | undefined
  #opened: boolean
  #token = 0
  readonly #commits: ThreadCommit[] = []
  readonly ports: RunnerPorts

  constructor(parts: AttemptStoreParts) {
    this.#parts = parts
    this.#opened = parts.opened
    const { store, gone } = parts
    const alive = <Args extends readonly unknown[], T>(work: (...args: Args) => Promise<T>) => whileAlive(gone, work)
    const { threads, leases, journal } = store
    this.ports = {
      threads: {
        get: alive((ref) => this.#get(ref)),
        open: alive((ref) => this.#open(ref)),
        commit: alive((ref, commit, token) => this.#commit(ref, commit, token)),
        messages: alive((ref, page) => threads.messages(ref, page)),
        ...(threads.known && { known: alive((ref, ids) => threads.known?.(ref, ids) ?? Promise.resolve([])) }),
        processed: alive((ref, ids) => threads.processed(ref, ids)),
        list: alive((owner, page) => threads.list(owner, page)),
        fork: alive((ref, request) => threads.fork(ref, request)),
        cut: alive((ref, request, token) => threads.cut(ref, request, token)),
        delete: alive((ref) => threads.delete(ref)),
        idle: alive((query) => threads.idle(query)),
      },
      leases: {
        acquire: alive((ref, holder) => this.#acquire(ref, holder)),
        renew: alive(async (ref, token, ttlMs) => (this.#ends ? {} : leases.renew(ref, token, ttlMs))),
        release: alive((ref, token) => this.#release(ref, token)),
        requestCancel: alive((ref, request) => leases.requestCancel(ref, request)),
      },
      journal: {
        append: alive((_ref, _runId, entries) => parts.record(entries as unknown as readonly JournalEntry[])),
        read: alive((ref) => this.#read(ref)),
        lost: alive((query) => journal.lost(query)),
      },
    }
  }

  /** What is left to do; undefined as long as the run has not ended. */
  get ending(): Ending | undefined {
    if (!this.#ends) return undefined
    const last = this.#commits.length - 1
    const commits = this.#commits.map((commit, i): ThreadCommit => (i === last ? { ...commit, release: true } : commit))
    return { commits, token: this.#token }
  }

  /** Whether the thread has the run. */
  get opened(): boolean {
    return this.#opened
  }

  get #ends(): boolean {
    return this.#commits.length > 0
  }

  async #get(ref: ThreadRef): Promise<Thread | undefined> {
    if (this.#ends) return this.#thread
    this.#thread = await this.#parts.store.threads.get(ref)
    return this.#thread
  }

  async #open(ref: ThreadRef): Promise<Thread> {
    this.#thread = await this.#parts.store.threads.open(ref)
    return this.#thread
  }

  async #commit(ref: ThreadRef, commit: ThreadCommit, token: number): Promise<Thread> {
    const { store, order } = this.#parts
    if (this.#opened && (commit.journal === null || this.#ends)) {
      this.#commits.push(commit)
      this.#thread = threadAfter(this.#thread as Thread, commit)
      return this.#thread
    }
    this.#thread = await store.threads.commit(ref, commit, token)
    this.#opened ||= commit.journal?.runId === order.runId
    return this.#thread
  }

  async #acquire(ref: ThreadRef, { runId, ttlMs }: { readonly runId: string; readonly ttlMs: number }) {
    const { store, order, opened, asked, cancel } = this.#parts
    const { cancel: kept, ...lease } = await store.leases.acquire(ref, { runId, ttlMs, again: true })
    this.#token = lease.token
    const own = asked()
    const mode = own ? harderCancel(kept, own) : kept
    // A run that goes on obeys where it stood; one that begins, at once.
    if (mode && !opened) cancel(mode)
    return { ...lease, ...(opened && mode && { cancel: mode }), ...(!opened && order.fresh && { fresh: order.fresh }) }
  }

  /** Contract: the lease of a run that goes on elsewhere stays, and that of a run that has ended is released with its last commit. */
  async #release(ref: ThreadRef, token: number): Promise<void> {
    if (!this.#opened) await this.#parts.store.leases.release(ref, token)
  }

  async #read(ref: ThreadRef): ReturnType<RunnerPorts['journal']['read']> {
    const { store, order, recorded } = this.#parts
    const stored = await store.journal.read(ref)
    if (stored?.runId !== order.runId) return stored
    const [first, ...others] = stored.entries
    const steps: JournalEntry[] = []
    let opened = first
    for (const entry of recorded) {
      if ('steps' in entry) {
        steps.push(...entry.steps)
        continue
      }
      // Nothing was under way, so this attempt goes on as if it had done it all.
      opened = { ...(opened as object), by: this.#token } as Json
      for (const [i, step] of steps.entries()) steps[i] = { ...step, by: this.#token }
    }
    return { runId: stored.runId, entries: [opened as Json, ...others, ...steps] }
  }
}

/** What a commit makes of a thread, for a runner whose last commit is still to come. */
function threadAfter({ runId, unfinished, checkpoint, ...thread }: Thread, commit: ThreadCommit): Thread {
  const kept = commit.checkpoint === undefined ? checkpoint : (commit.checkpoint ?? undefined)
  return {
    ...thread,
    version: thread.version + 1,
    state: stateAfter(thread.state, commitEffect(commit, 0, () => false).changes),
    openCalls: commit.openCalls ?? thread.openCalls,
    ...(kept && { checkpoint: kept }),
    ...(commit.journal === undefined && unfinished !== undefined && { unfinished }),
    ...(!commit.release && runId !== undefined && { runId }),
  }
}
