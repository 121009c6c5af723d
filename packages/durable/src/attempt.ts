import {
  type AgentEvent,
  type CancelMode,
  type Clock,
  type Json,
  KernelError,
  type Restored,
  type Run,
  type RunContext,
  type Runner,
  type Store,
} from '@troupe/kernel'
import { pipe } from '@troupe/kernel/kit'
import { harderCancel } from '@troupe/kernel/store'
import { attemptClock } from './attempt-clock.ts'
import { AttemptStore, type Ending, type RunnerPorts, type StepEntry } from './attempt-store.ts'
import type { EngineAttempt } from './engine.ts'
import { EntryLog } from './entry-log.ts'
import { type EventEntry, EventLog, eventOf, isEnd } from './event-log.ts'
import { StepGate } from './held-journal.ts'
import { inputOf, type RunOrder, type SharedKeys, withValues } from './run-order.ts'

/** What a worker gives to the runner of an attempt: spread it into the options of `runner`. */
export interface RunnerHost {
  readonly store: RunnerPorts
  readonly clock: Clock
  readonly limits: { readonly idleMs: number }
  readonly wrapJournal: StepGate['around']
}

/** What all attempts of a worker share. */
export interface AttemptParts {
  readonly store: Pick<Store, 'threads' | 'leases' | 'journal' | 'runLog'>
  readonly clock: Clock
  /** Makes the runner of one attempt. */
  readonly runner: (host: RunnerHost) => Runner
  readonly shared: SharedKeys
  readonly restore: ((carried: Json | undefined) => Restored) | undefined
  readonly maxStepChars: number
}

/** What the engine has recorded of a run. */
type Entry = StepEntry | { readonly end: Ending; readonly events: readonly AgentEvent[] }

/** The error with which an attempt ends that hands its run over: the engine goes on with it in another worker. */
export const HANDED_OVER = 'the worker is stopping; the run goes on in another one'

/**
 * One attempt to carry out a run.
 * Contract: an attempt that fails for now throws, and the engine makes another one; an attempt that was given up never settles.
 */
export class Attempt {
  readonly #parts: AttemptParts
  readonly #order: RunOrder
  readonly #entries: EntryLog
  readonly #gone: AbortController = new AbortController()
  readonly #gate: StepGate
  readonly #failed: PromiseWithResolvers<never> = Promise.withResolvers()
  #runner: Runner | undefined
  #asked: CancelMode | undefined
  /** Whether the runner knows the run. */
  #began = false
  #store: AttemptStore | undefined
  /** What comes after the last step; it is shown when the run has ended in its thread. */
  readonly #held: AgentEvent[] = []
  #log: EventLog | undefined

  constructor(parts: AttemptParts, order: RunOrder, { once, gone }: EngineAttempt) {
    this.#parts = parts
    this.#order = order
    this.#entries = new EntryLog(once, parts.maxStepChars)
    this.#gate = new StepGate(this.#gone.signal)
    this.#failed.promise.catch(() => undefined)
    if (gone.aborted) this.#gone.abort()
    else gone.addEventListener('abort', () => this.#gone.abort(), { once: true })
  }

  /** Carries the run out, to its end or to the end of this attempt. */
  carryOut(): Promise<void> {
    return Promise.race([this.#carryOut(), this.#failed.promise])
  }

  /** Asks the run to stop. */
  cancel(mode: CancelMode): void {
    this.#asked = harderCancel(this.#asked, mode)
    const { ref, runId } = this.#order
    const request = { mode: this.#asked, runId }
    // Kept in the store for another attempt.
    void this.#parts.store.leases.requestCancel(ref, request).catch(() => undefined)
    if (this.#began) void this.#runner?.cancel(ref, request).catch(() => undefined)
  }

  /** Ends the attempt so that another worker goes on where it stood. Contract: waits for the steps that are under way; nothing is done twice. */
  async handOver(): Promise<void> {
    await this.#gate.hold()
    if (this.#gone.signal.aborted || this.#store?.ending) return
    // A write that is under way would get in the way of the next attempt.
    await this.#log?.takeUnwritten()
    if (this.#store?.opened) await this.#entries.addLast({ handover: true })
    this.#fail(new KernelError('ABORTED', HANDED_OVER, { retryable: true }))
  }

  /** Ends this attempt: the engine makes another one. */
  #fail(error: unknown): void {
    this.#gone.abort()
    this.#failed.reject(error)
  }

  async #carryOut(): Promise<void> {
    const { store, clock } = this.#parts
    const { ref, runId } = this.#order
    const recorded = await this.#entries.recorded<Entry>((entry) => 'end' in entry)
    const place = { runLog: store.runLog, ref, runId, clock }
    const signal = this.#gone.signal
    const taken = await EventLog.takeOver(place, signal, (error) => this.#fail(error)).catch(ignoreDeleted)
    // The thread was deleted, and the run with it.
    if (!taken) return
    const { log, entries } = taken
    if (isEnd(entries.at(-1), runId)) return
    this.#log = log
    const last = recorded.at(-1)
    if (last && 'end' in last) return this.#finish(last.end, last.events)
    const thread = await store.threads.get(ref)
    const opened = thread?.unfinished === runId
    const shown = entries.flatMap((entry) => eventOf(entry) ?? [])
    if (!opened && shown.some(({ type }) => type === 'run-start')) return this.#endLost(shown)
    await this.#run(recorded as readonly StepEntry[], opened, shown)
  }

  async #run(recorded: readonly StepEntry[], opened: boolean, shown: readonly AgentEvent[]): Promise<void> {
    const { store, clock, runner } = this.#parts
    const gone = this.#gone.signal
    const attempt = new AttemptStore({
      store,
      order: this.#order,
      recorded,
      record: (steps) => this.#entries.add({ steps } as unknown as Json),
      gone,
      opened,
      asked: () => this.#asked,
      cancel: (mode) => {
        this.#asked = mode
      },
    })
    this.#store = attempt
    this.#runner = runner({
      store: attempt.ports,
      clock: attemptClock(clock, gone),
      limits: { idleMs: Number.POSITIVE_INFINITY },
      wrapJournal: (journal) => this.#gate.around(journal),
    })
    const run = opened ? this.#goOn(this.#runner, shown) : this.#start(this.#runner)
    await pipe(run.eventsWithoutThrowing(), { write: (event) => this.#show(event) })
    if (gone.aborted) return new Promise(() => undefined)
    const { ending } = attempt
    if (ending) {
      // Another attempt that ends the run has only what is recorded.
      const events = [...((await this.#log?.takeUnwritten()) ?? []), ...this.#held]
      await this.#entries.addLast({ end: ending, events } as unknown as Json)
      return this.#finish(ending, events)
    }
    const error = await run.then(
      () => new KernelError('CONFIG_INVALID', "worker: its runner must have durability: 'step'"),
      (reason: unknown) => KernelError.from(reason),
    )
    // A run that broke off is still in its thread; one that was refused may be accepted later.
    if (attempt.opened || error.retryable || (await this.#wasOpened())) throw error
    await this.#log?.close([{ type: '~refused', error: error.toJSON() }])
  }

  /** Whether the attempt before has opened the thread just before this one took its lease. */
  async #wasOpened(): Promise<boolean> {
    const { ref, runId } = this.#order
    return (await this.#parts.store.threads.get(ref))?.unfinished === runId
  }

  #start(runner: Runner): Run {
    const { ref, runId, input, answers, closed, carry, values, timeoutMs, pending } = this.#order
    const { prepare = (ctx: RunContext) => ctx, additions } = this.#parts.restore?.(carry) ?? {}
    const given = withValues(this.#parts.shared, values)
    const request = {
      session: ref,
      runId,
      prepare: (ctx: RunContext): RunContext => {
        this.#began = true
        if (this.#asked) this.cancel(this.#asked)
        return prepare(given(ctx))
      },
      ...(carry !== undefined && { carry }),
      ...(timeoutMs !== undefined && { timeoutMs }),
      ...(pending && { pending }),
    }
    const all = inputOf(input)
    const tools = [...(all.additions?.tools ?? []), ...(additions?.tools ?? [])]
    const whole = tools.length > 0 ? { ...all, additions: { ...additions, ...all.additions, tools } } : all
    return answers
      ? runner.resume(answers, { ...request, ...whole, ...(closed && { closed }) })
      : runner.run(whole, request)
  }

  #goOn(runner: Runner, shown: readonly AgentEvent[]): Run {
    const { ref, runId, values, timeoutMs, input } = this.#order
    const own = inputOf(input).additions
    const restore = (carried: Json | undefined): Restored => {
      const { prepare = (ctx: RunContext) => ctx, additions } = this.#parts.restore?.(carried) ?? {}
      const given = withValues(this.#parts.shared, values)
      const tools = [...(own?.tools ?? []), ...(additions?.tools ?? [])]
      return {
        prepare: (ctx) => {
          this.#began = true
          return prepare(given(ctx))
        },
        ...((additions || tools.length > 0) && { additions: { ...additions, tools } }),
      }
    }
    // The constructor of the worker has checked that there is one.
    const goOn = runner.continue as NonNullable<Runner['continue']>
    return goOn.call(runner, ref, { runId, shown, restore, ...(timeoutMs !== undefined && { timeoutMs }) })
  }

  #show(event: AgentEvent): void | Promise<void> {
    if (this.#gone.signal.aborted) return new Promise(() => undefined)
    if (!this.#store?.ending) return this.#log?.write(event)
    this.#held.push(event)
  }

  /** Ends the run in its thread, then for its readers. Contract: may be done again by another attempt. */
  async #finish({ commits, token }: Ending, events: readonly AgentEvent[]): Promise<void> {
    const { threads } = this.#parts.store
    const { ref } = this.#order
    try {
      for (const commit of commits) await threads.commit(ref, commit, token)
    } catch (cause) {
      const error = KernelError.from(cause)
      if (error.retryable) throw error
      return this.#close([...events.filter(({ type }) => type !== 'run-end'), this.#failedEnd(error)])
    }
    await this.#close(events)
  }

  /** Ends a run for its readers that another one has taken the thread from. */
  #endLost(shown: readonly AgentEvent[]): Promise<void> {
    const { runId } = this.#order
    const message = `run ${runId}: another run has taken its thread, because no worker went on with it in time`
    const stamp = shown.find((event) => event.type === 'run-start' && event.runId === runId)
    return this.#close([this.#failedEnd(new KernelError('LEASE_LOST', message), stamp)])
  }

  async #close(entries: readonly EventEntry[]): Promise<void> {
    try {
      await this.#log?.close(entries)
    } catch (error) {
      ignoreDeleted(error)
    }
  }

  #failedEnd(error: KernelError, stamp?: Pick<AgentEvent, 'agentName' | 'runPath'>): AgentEvent {
    const { runId, agent } = this.#order
    const { agentName = agent, runPath = [] } = stamp ?? {}
    const usage = { inputTokens: 0, outputTokens: 0 }
    return { type: 'run-end', runId, agentName, runPath, outcome: 'failed', text: '', usage, error: error.toJSON() }
  }
}

function ignoreDeleted(error: unknown): undefined {
  if (!KernelError.is(error, 'NOT_FOUND')) throw error
}
