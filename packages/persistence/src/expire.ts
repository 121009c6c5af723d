import { type Clock, KernelError, type Store, type ThreadSummary } from '@troupe/kernel'
import { checkOption, checkOptionNames, idlePages, type OptionNames, safeReport, systemClock } from '@troupe/kernel/kit'

/** What `expire` deletes, and when. */
export interface ExpireOptions {
  readonly store: Pick<Store, 'threads' | 'leases'> & Partial<Pick<Store, 'records' | 'runLog'>>
  /** Threads, with all they have. @default none */
  readonly threads?: {
    /** How long a thread may be idle. */
    readonly idleMs: number
    /** How long one may be idle that waits for a person or a call, or whose run has not ended. @default for ever */
    readonly waitingMs?: number
  }
  /** Records of runs, with their calls and tokens. @default none, except those of threads that are deleted */
  readonly records?: Ended
  /** Logs of runs. @default none, except those of threads that are deleted */
  readonly runLogs?: Ended
  /** The apps whose data expires, if several apps share a store. @default all */
  readonly apps?: readonly string[]
  /** Stops after the thread or the page that is being deleted. */
  readonly signal?: AbortSignal
  /** How many rows are read or deleted at once, from 1 to 1,000. @default 100 */
  readonly pageSize?: number
  /** Receives failures; the next call tries again. @default console.error */
  readonly report?: (error: KernelError) => void
  readonly clock?: Clock
}

/** How long something is kept after its run has ended. */
interface Ended {
  readonly endedMs: number
}

/** What `expire` has done. */
export interface Expired {
  /** Threads that were deleted. */
  readonly threads: number
  /** Idle threads that stay, because they wait, are in use, or have a run that has not ended. */
  readonly kept: number
  /** Runs whose records were deleted. */
  readonly records: number
  /** Logs of runs that were deleted. */
  readonly runLogs: number
  /** Threads and pages that could not be deleted. */
  readonly failed: number
}

const WHO = 'expire'
/** How long a lost process keeps a thread that it was about to delete. */
const LEASE_MS = 30_000
const NAMES: OptionNames<ExpireOptions> = {
  store: true,
  threads: true,
  records: true,
  runLogs: true,
  apps: true,
  signal: true,
  pageSize: true,
  report: true,
  clock: true,
}

/**
 * Deletes threads, records and logs that are older than the app wants to keep them.
 * Contract: never a thread with a live lease; each thread is looked at again under a lease of its own, so that several processes may call it at once and
 * no run begins in between. A failure of the store is reported and counted, and the rest goes on.
 * @example await expire({ store, threads: { idleMs: 90 * 86_400_000 }, records: { endedMs: 30 * 86_400_000 } })
 */
export async function expire(options: ExpireOptions): Promise<Expired> {
  const sweep = new Sweep(options)
  await sweep.threads()
  await sweep.ended('records')
  await sweep.ended('runLogs')
  return sweep.done
}

type Count = { -readonly [Name in keyof Expired]: Expired[Name] }

class Sweep {
  readonly done: Count = { threads: 0, kept: 0, records: 0, runLogs: 0, failed: 0 }
  readonly #options: ExpireOptions
  readonly #clock: Clock
  readonly #limit: number
  readonly #report: (error: KernelError) => void

  constructor(options: ExpireOptions) {
    checkOptions(options)
    this.#options = options
    this.#clock = options.clock ?? systemClock
    this.#limit = options.pageSize ?? 100
    this.#report = safeReport(options.report)
  }

  get #stopped(): boolean {
    return this.#options.signal?.aborted === true
  }

  async threads(): Promise<void> {
    const { threads: wanted, store, apps } = this.#options
    if (!wanted) return
    const before = this.#clock.now() - Math.min(wanted.idleMs, wanted.waitingMs ?? Number.POSITIVE_INFINITY)
    await this.#attempt(async () => {
      for await (const page of idlePages(store.threads, { before, limit: this.#limit })) {
        for (const thread of page) {
          if (this.#stopped) return
          if (apps && !apps.includes(thread.ref.app)) continue
          await this.#attempt(() => this.#end(thread))
        }
      }
    })
  }

  async ended(what: 'records' | 'runLogs'): Promise<void> {
    const { [what]: wanted, store, apps } = this.#options
    if (!wanted) return
    const query = { before: this.#clock.now() - wanted.endedMs, limit: this.#limit, ...(apps && { apps }) }
    await this.#attempt(async () => {
      for (let deleted = this.#limit; deleted === this.#limit && !this.#stopped; this.done[what] += deleted) {
        deleted = (await (what === 'records' ? store.records?.prune?.(query) : store.runLog?.prune(query))) ?? 0
      }
    })
  }

  async #attempt(work: () => Promise<void>): Promise<void> {
    try {
      await work()
    } catch (error) {
      this.done.failed++
      this.#report(KernelError.from(error, 'STORE_FAILED'))
    }
  }

  async #end(thread: ThreadSummary): Promise<void> {
    const deleted = this.#hasExpired(thread) && (await this.#delete(thread))
    if (deleted) this.done.threads++
    else if (deleted === false) this.done.kept++
  }

  /** Contract: undefined if the thread is gone already. */
  async #delete({ ref }: ThreadSummary): Promise<boolean | undefined> {
    const { threads, leases } = this.#options.store
    let token: number
    try {
      // biome-ignore lint/plugin: it is outside of runs, so nothing replays it
      const holder = { runId: `${WHO}:${crypto.randomUUID()}`, ttlMs: LEASE_MS }
      token = (await leases.acquire(ref, holder)).token
    } catch (error) {
      if (KernelError.is(error, 'THREAD_BUSY')) return false
      throw error
    }
    try {
      const now = await threads.get(ref)
      if (!now) return undefined
      return this.#hasExpired(now) && (await threads.delete(ref))
    } finally {
      await leases.release(ref, token)
    }
  }

  #hasExpired({ waiting, unfinished, updatedAt }: ThreadSummary): boolean {
    const { idleMs = 0, waitingMs = Number.POSITIVE_INFINITY } = this.#options.threads ?? {}
    return this.#clock.now() - updatedAt > (waiting || unfinished !== undefined ? waitingMs : idleMs)
  }
}

function checkOptions(options: ExpireOptions): void {
  checkOptionNames(WHO, options, NAMES)
  const { store, threads, records, runLogs, apps, pageSize = 100 } = options
  if (threads) checkOptionNames(`${WHO}: threads`, threads, { idleMs: true, waitingMs: true })
  for (const [name, value] of Object.entries({ records, runLogs })) {
    if (value) checkOptionNames(`${WHO}: ${name}`, value, { endedMs: true })
  }
  checkOption(Boolean(store?.threads && store.leases), WHO, 'store must be a Store', store)
  checkMs('threads.idleMs', threads?.idleMs, threads)
  checkMs('threads.waitingMs', threads?.waitingMs ?? Number.POSITIVE_INFINITY, threads)
  checkMs('records.endedMs', records?.endedMs, records)
  checkMs('runLogs.endedMs', runLogs?.endedMs, runLogs)
  checkOption(
    !records || store.records?.prune !== undefined,
    WHO,
    'records needs a store with records.prune',
    undefined,
  )
  checkOption(!runLogs || store.runLog !== undefined, WHO, 'runLogs needs a store with a runLog', undefined)
  checkOption(apps === undefined || Array.isArray(apps), WHO, 'apps must be a list', apps)
  const fits = Number.isInteger(pageSize) && pageSize >= 1 && pageSize <= 1_000
  checkOption(fits, WHO, 'pageSize must be a whole number from 1 to 1000', pageSize)
}

function checkMs(name: string, value: number | undefined, given: object | undefined): void {
  const fine = given === undefined || (typeof value === 'number' && value >= 1)
  checkOption(fine, WHO, `${name} must be a number of at least 1`, value)
}
