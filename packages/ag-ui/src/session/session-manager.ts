import {
  type ForkPoint,
  type Json,
  type JsonObject,
  KernelError,
  type Owner,
  type Thread,
  type ThreadCommit,
  type ThreadRef,
} from '@troupe/kernel'
import { got } from '@troupe/kernel/kit'
import { isTemporary } from '../translate/shared-state.ts'
import { cutThread } from './cut-thread.ts'
import { forget } from './forget.ts'
import { makeRoom } from './make-room.ts'
import { type SessionManagerOptions, type SessionSettings, sessionSettings } from './session-settings.ts'
import { type SweepResult, sweep } from './sweep.ts'

/**
 * Sessions by app, user and thread: their state and processed messages between runs, and their end.
 * Contract: everything is in the store, so that any number of managers in any number of processes may work on it; it writes under a short lease of
 * its own, so that a write during a run is `THREAD_BUSY`; sessions of other owners look as if they did not exist.
 * @example
 * await using sessions = new SessionManager({ store })
 * sessions.start()
 */
export class SessionManager implements AsyncDisposable {
  readonly #settings: SessionSettings
  #cancelTimer: (() => void) | undefined
  #sweeping: Promise<unknown> = Promise.resolve()

  constructor(options: SessionManagerOptions) {
    this.#settings = sessionSettings(options)
  }

  /** A session, if there is one. */
  getSession(ref: ThreadRef): Promise<Thread | undefined> {
    return this.#settings.store.threads.get(ref)
  }

  /** Contract: free of races; `state` is used for a new session only; at the limit of a user the oldest session that neither runs nor waits is ended, else `SESSION_LIMIT`. */
  async getOrCreateSession(ref: ThreadRef, state: JsonObject = {}): Promise<Thread> {
    const { threads } = this.#settings.store
    const found = await threads.get(ref)
    if (found) return found
    await this.makeRoom(ref)
    const thread = await threads.open(ref)
    if (thread.version > 0 || Object.keys(state).length === 0) return thread
    checkKeys(Object.keys(state))
    return this.#settings.holds.hold(ref, async ({ token }) => {
      const current = await threads.open(ref)
      return current.version > 0 ? current : threads.commit(ref, { set: state }, token)
    })
  }

  /** Makes room for one more session of a user. Contract: call it only before creating one. */
  makeRoom(owner: Owner): Promise<void> {
    return makeRoom(this.#settings, owner)
  }

  /** The state of a session; undefined if it does not exist. */
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

  /** The ids of client messages that have been processed already. */
  async getProcessedMessageIds(ref: ThreadRef, ids: readonly string[]): Promise<ReadonlySet<string>> {
    return new Set(ids.length === 0 ? [] : await this.#settings.store.threads.processed(ref, ids))
  }

  /** Marks messages that no run takes. Contract: a run marks its own messages when it commits. */
  async markMessagesProcessed(ref: ThreadRef, ids: readonly string[]): Promise<void> {
    if (ids.length > 0) await this.#commit(ref, () => ({ processed: ids }))
  }

  /** Changes a session between runs; `commit` gets the thread as it is under the lease. */
  async change(ref: ThreadRef, commit: (thread: Thread) => ThreadCommit): Promise<Thread> {
    return this.#commit(ref, commit)
  }

  /** Cuts a session between runs, for a client that shows less of it. Contract: what it was is a session `<id>~1`, `<id>~2` and so on; `THREAD_BUSY` if it has changed since `thread` was read. */
  cut(thread: Thread, point: ForkPoint): Promise<Thread> {
    return cutThread(this.#settings, thread, point)
  }

  /** Deletes a session, with what was cut off from it. Contract: passes it to memory first, and rejects if that fails; false if it does not exist. */
  deleteSession(ref: ThreadRef): Promise<boolean> {
    return forget(this.#settings, ref, () => true)
  }

  /** Deletes expired sessions, and the logs of runs that ended long ago. Contract: never a session that runs; one that waits for a client only after `maxPendingMs`; one that memory did not take stays for the next sweep. */
  sweep(): Promise<SweepResult> {
    return sweep(this.#settings)
  }

  /** Starts to sweep at the interval; before that no session and no log expires. */
  start(): void {
    const sweep = () => {
      this.#cancelTimer = undefined
      this.start()
      this.#sweeping = this.#sweeping
        .then(() => this.sweep())
        .catch((error: unknown) => {
          this.#settings.report(KernelError.from(error, 'STORE_FAILED'))
        })
    }
    this.#cancelTimer ??= this.#settings.clock.after(this.#settings.sweepIntervalMs, sweep, false)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#cancelTimer?.()
    this.#cancelTimer = undefined
    await this.#sweeping
  }

  /** Contract: `THREAD_BUSY` while a run has not ended, even if its process is gone: a write would end its record, and change what it goes on with. */
  async #commit(ref: ThreadRef, commit: (thread: Thread) => ThreadCommit): Promise<Thread> {
    const { holds, store } = this.#settings
    const runId = (await store.threads.get(ref))?.unfinished
    if (runId !== undefined) {
      throw new KernelError('THREAD_BUSY', `session: a run has not ended, ${got(runId)}`, {
        retryable: true,
        details: { runId },
      })
    }
    return holds.hold(ref, async ({ token }) => {
      const thread = await store.threads.get(ref)
      if (!thread) throw new KernelError('NOT_FOUND', `session: not found, ${got(ref.threadId)}`)
      return store.threads.commit(ref, commit(thread), token)
    })
  }
}

function checkKeys(keys: readonly string[]): void {
  const temporary = keys.find(isTemporary)
  if (temporary === undefined) return
  throw new KernelError(
    'VALIDATION_FAILED',
    `session state: temp: keys cannot be stored, because they live for one run, ${got(temporary)}`,
  )
}
