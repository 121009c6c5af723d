import {
  type Clock,
  checkOption,
  checkOptionNames,
  got,
  type Json,
  type JsonObject,
  KernelError,
  type Memory,
  type OptionNames,
  type Owner,
  type Store,
  systemClock,
  type Thread,
  type ThreadCommit,
  type ThreadRef,
} from '@troupe/kernel'
import { isTemporary } from '../input/client-state.ts'
import { isolated } from '../report.ts'
import { forget } from './forget.ts'
import { makeRoom } from './make-room.ts'
import { type SweepResult, sweep } from './sweep.ts'
import { ThreadHolds } from './thread-hold.ts'

/** How sessions are kept. */
export interface SessionManagerOptions {
  readonly store: Pick<Store, 'threads' | 'leases'>
  /** How long a session may be left alone. @default 1_200_000 */
  readonly sessionTimeoutMs?: number
  /** How long a session that waits for a client may be left alone. @default 86_400_000 */
  readonly maxPendingMs?: number
  /** @default 300_000 */
  readonly sweepIntervalMs?: number
  /** @default no limit */
  readonly maxSessionsPerUser?: number
  /** Whose sessions expire, where several apps share a store. @default all */
  readonly apps?: readonly string[]
  /** Where a conversation goes before it is deleted. */
  readonly memory?: Memory
  /** How long that may take. @default 60_000 */
  readonly memoryTimeoutMs?: number
  readonly clock?: Clock
  /** Where failures of the sweep go. @default they are left out */
  readonly report?: (error: KernelError) => void
}

/** What all parts of a session manager share. */
export interface SessionParts extends Required<Omit<SessionManagerOptions, 'memory' | 'maxSessionsPerUser' | 'apps'>> {
  readonly memory: Memory | undefined
  readonly apps: readonly string[] | undefined
  readonly maxSessionsPerUser: number
  readonly holds: ThreadHolds
}

const NAMES: OptionNames<SessionManagerOptions> = {
  store: true,
  sessionTimeoutMs: true,
  maxPendingMs: true,
  sweepIntervalMs: true,
  maxSessionsPerUser: true,
  apps: true,
  memory: true,
  memoryTimeoutMs: true,
  clock: true,
  report: true,
}

/**
 * Sessions by app, user and thread: their state and processed messages between runs, and their end.
 * Contract: everything is in the store, so that any number of managers in any number of processes may work on it; it writes under a short lease of
 * its own, so that a write during a run is `THREAD_BUSY`; what is another's looks as if it were not there.
 * @example
 * await using sessions = new SessionManager({ store })
 * sessions.start()
 */
export class SessionManager implements AsyncDisposable {
  readonly #parts: SessionParts
  #cancelTimer: (() => void) | undefined
  #sweeping: Promise<unknown> = Promise.resolve()

  constructor(options: SessionManagerOptions) {
    checkOptionNames('SessionManager', options, NAMES)
    const {
      store,
      sessionTimeoutMs = 1_200_000,
      maxPendingMs = 86_400_000,
      sweepIntervalMs = 300_000,
      maxSessionsPerUser = Number.POSITIVE_INFINITY,
      memoryTimeoutMs = 60_000,
      clock = systemClock,
      memory,
      apps,
      report = () => {},
    } = options
    const numbers = { sessionTimeoutMs, maxPendingMs, sweepIntervalMs, maxSessionsPerUser, memoryTimeoutMs }
    for (const [name, value] of Object.entries(numbers)) {
      checkOption(typeof value === 'number' && value >= 1, 'SessionManager', `${name} is a number of at least 1`, value)
    }
    const holds = new ThreadHolds(store.leases, clock)
    this.#parts = { store, ...numbers, clock, memory, apps, report: isolated(report), holds }
  }

  /** A session, if there is one. */
  getSession(ref: ThreadRef): Promise<Thread | undefined> {
    return this.#parts.store.threads.get(ref)
  }

  /** Contract: without a race; `state` is for a new one; where a user has as many as allowed, the oldest goes that neither runs nor waits, else `SESSION_LIMIT`. */
  async getOrCreateSession(ref: ThreadRef, state: JsonObject = {}): Promise<Thread> {
    const { threads } = this.#parts.store
    const found = await threads.get(ref)
    if (found) return found
    await this.makeRoom(ref)
    const thread = await threads.open(ref)
    if (thread.version > 0 || Object.keys(state).length === 0) return thread
    checkKeys(Object.keys(state))
    return this.#parts.holds.hold(ref, async ({ token }) => {
      const current = await threads.open(ref)
      return current.version > 0 ? current : threads.commit(ref, { set: state }, token)
    })
  }

  /** Makes room for one more session of a user. Contract: called when one is created, and then only. */
  makeRoom(owner: Owner): Promise<void> {
    return makeRoom(this.#parts, owner)
  }

  /** The state of a session; nothing if there is none. */
  async getSessionState(ref: ThreadRef): Promise<JsonObject | undefined> {
    return (await this.getSession(ref))?.state
  }

  /** Sets these keys; others stay. */
  async updateSessionState(ref: ThreadRef, updates: JsonObject): Promise<JsonObject> {
    checkKeys(Object.keys(updates))
    return (await this.#commit(ref, () => ({ set: updates }))).state
  }

  async getStateValue(ref: ThreadRef, key: string): Promise<Json | undefined> {
    const state = await this.getSessionState(ref)
    return state && Object.hasOwn(state, key) ? state[key] : undefined
  }

  async setStateValue(ref: ThreadRef, key: string, value: Json): Promise<void> {
    await this.updateSessionState(ref, { [key]: value })
  }

  async removeStateKeys(ref: ThreadRef, keys: readonly string[]): Promise<void> {
    await this.#commit(ref, () => ({ removed: keys }))
  }

  /** Removes every key but those that begin with one of the prefixes. */
  async clearSessionState(
    ref: ThreadRef,
    { keepPrefixes = [] }: { readonly keepPrefixes?: readonly string[] } = {},
  ): Promise<void> {
    await this.#commit(ref, ({ state }) => ({
      removed: Object.keys(state).filter((key) => !keepPrefixes.some((prefix) => key.startsWith(prefix))),
    }))
  }

  /** Which of these messages of a client have been taken already. */
  async getProcessedMessageIds(ref: ThreadRef, ids: readonly string[]): Promise<ReadonlySet<string>> {
    return new Set(ids.length === 0 ? [] : await this.#parts.store.threads.processed(ref, ids))
  }

  /** Contract: a run marks its own messages with its turn; this is for messages that no run takes. */
  async markMessagesProcessed(ref: ThreadRef, ids: readonly string[]): Promise<void> {
    if (ids.length > 0) await this.#commit(ref, () => ({ processed: ids }))
  }

  /** Any change of a session between runs, made of what it is under the lease. */
  async change(ref: ThreadRef, commit: (thread: Thread) => ThreadCommit): Promise<Thread> {
    return this.#commit(ref, commit)
  }

  /** Contract: hands over to memory first, and rejects if that fails; false if there is none. */
  deleteSession(ref: ThreadRef): Promise<boolean> {
    return forget(this.#parts, ref, () => true)
  }

  /** Deletes what has expired. Contract: never what runs; what waits for a client only after `maxPendingMs`; what could not be handed over stays for the next time. */
  sweep(): Promise<SweepResult> {
    return sweep(this.#parts)
  }

  /** Sweeps from now on, at the interval; until then nothing expires. */
  start(): void {
    const sweep = () => {
      this.#cancelTimer = undefined
      this.start()
      this.#sweeping = this.#sweeping
        .then(() => this.sweep())
        .catch((error: unknown) => {
          this.#parts.report(KernelError.from(error, 'STORE_FAILED'))
        })
    }
    this.#cancelTimer ??= this.#parts.clock.after(this.#parts.sweepIntervalMs, sweep, false)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#cancelTimer?.()
    this.#cancelTimer = undefined
    await this.#sweeping
  }

  #commit(ref: ThreadRef, commit: (thread: Thread) => ThreadCommit): Promise<Thread> {
    const { holds, store } = this.#parts
    return holds.hold(ref, async ({ token }) => {
      const thread = await store.threads.get(ref)
      if (!thread) throw new KernelError('NOT_FOUND', `session: unknown, ${got(ref.threadId)}`)
      return store.threads.commit(ref, commit(thread), token)
    })
  }
}

function checkKeys(keys: readonly string[]): void {
  const temporary = keys.find(isTemporary)
  if (temporary === undefined) return
  throw new KernelError(
    'VALIDATION_FAILED',
    `session state: temp: keys live in a run, not between runs, ${got(temporary)}`,
  )
}
