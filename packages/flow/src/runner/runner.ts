import {
  type Agent,
  type Answers,
  type Callback,
  type CancelRequest,
  type Clock,
  type ClosedQuestions,
  type ContinueRequest,
  type ForkRequest,
  type Journal,
  KernelError,
  type LostQuery,
  type LostRun,
  type Run,
  type RunInput,
  type Runner,
  type RunRequest,
  type StartInput,
  type ThreadRef,
} from '@troupe/kernel'
import {
  checkOption,
  checkOptionNames,
  got,
  notJson,
  type OptionNames,
  safeReport,
  systemClock,
} from '@troupe/kernel/kit'
import { memoryStore } from '@troupe/kernel/memory-store'
import { checkCallback, type RunSettings, readInput, startRun } from '@troupe/kernel/run'
import { CANCEL_MODES } from '@troupe/kernel/store'
import { flowOf } from '../tree/flow-agent.ts'
import { continueRun } from './continue-run.ts'
import { type HistoryOptions, HistoryWindow } from './history-window.ts'
import { KeptHistories } from './kept-histories.ts'
import { checkLimits, type RunnerLimits } from './limits.ts'
import { LocalRuns } from './local-runs.ts'
import { openThread } from './open-thread.ts'
import { type PendingPolicy, withClosed } from './opening.ts'
import type { Durability, FlowRequest, RunnerParts, RunnerStore } from './runner-parts.ts'
import { StaleLeases } from './stale-leases.ts'
import { standaloneRun, standaloneState } from './standalone-run.ts'
import type { BusyPolicy, LeaseOptions } from './thread-lease.ts'
import { ThreadRun } from './thread-run.ts'
import type { RunIntent } from './thread-update.ts'

/** Options of `runner`. */
export interface RunnerOptions<Output = unknown> {
  readonly agent: Agent<Output>
  /** Where threads, leases and journals are stored. @default in memory, as long as the runner exists */
  readonly store?: RunnerStore
  /** When a run is stored: `step` stores the user's messages first and then each step as it gets done, so that the run can be continued when its process dies; `turn` stores the whole turn at its end. @default 'step' with a `store` */
  readonly durability?: Durability
  /** What becomes of a call of effect `once` that may have run before the process died: the model is told that its outcome is unknown, or a person is asked. @default 'tell' */
  readonly unknownCalls?: 'tell' | 'ask'
  /** Goes around the journal of each run, for a host that has to know which steps are under way, or to let no more begin. @default none */
  readonly wrapJournal?: (journal: Journal) => Journal
  /** How much of a long thread a run loads and shows its agents. @default all */
  readonly history?: HistoryOptions
  readonly callbacks?: readonly Callback[]
  readonly limits?: RunnerLimits
  /** How a run reacts when another run holds its thread: it fails, waits in a queue, or stops the other run. @default 'reject' */
  readonly busy?: BusyPolicy
  /** How a user message is treated while questions or calls are open: it is refused, or it drops them. @default 'reject' */
  readonly pending?: PendingPolicy
  readonly clock?: Clock
  /** Receives failures that do not end a run. @default console.error */
  readonly report?: (error: KernelError) => void
}

/** A runner that also accepts plain text. */
export interface FlowRunner<Output = unknown> extends Runner<Output> {
  run(input: StartInput<RunInput>, request?: FlowRequest): Run<Output>
  /** Runs on one user message: `await` it for the answer, `for await` for the events. */
  query(text: string, request?: FlowRequest): Run<Output>
  continue(session: ThreadRef, request?: ContinueRequest): Run<Output>
  lost(query?: LostQuery): Promise<readonly LostRun[]>
  fork(session: ThreadRef, request: ForkRequest): Promise<ThreadRef>
}

/**
 * Runs an agent in conversations.
 * Contract: a run with a `session` continues that thread and is stored in it; a run without one stands alone and is not stored.
 * @example
 * const { text } = await runner({ agent }).query("What's the weather in Beijing?")
 */
export function runner<Output>(options: RunnerOptions<Output>): FlowRunner<Output> {
  checkOptionNames('runner', options, OPTIONS, OPTION_ALIASES)
  const { agent, callbacks = [], busy = 'reject', pending = 'reject', clock = systemClock, report } = options
  checkOption(Array.isArray(callbacks), 'runner', 'callbacks must be a list', callbacks)
  for (const callback of callbacks) checkCallback(callback)
  checkPolicies({ busy, pending })
  const store = options.store ?? memoryStore({ clock })
  checkOption(Boolean(store.threads && store.leases), 'runner', 'store must be a Store', options.store)
  const { durability = options.store ? 'step' : 'turn', unknownCalls = 'tell' } = options
  check('unknownCalls', unknownCalls, UNKNOWN_CALLS)
  check('durability', durability, DURABILITY)
  checkOption(
    durability === 'turn' || store.journal !== undefined,
    'runner',
    "store must have a journal, or durability must be 'turn'",
    undefined,
  )
  const limits = checkLimits(options.limits)
  const flow = flowOf(agent)
  const local = new LocalRuns()
  const cancel = async (ref: ThreadRef, request: CancelRequest = {}): Promise<boolean> => {
    checkOptionNames('cancel', request, CANCEL)
    const { mode = 'now', runId } = request
    check('cancel mode', mode, CANCEL_MODES)
    if (local.cancel(ref, mode, runId)) return true
    return store.leases.requestCancel(ref, { mode, ...(runId !== undefined && { runId }) })
  }
  const stop = (ref: ThreadRef, runId: string | undefined) => cancel(ref, runId === undefined ? {} : { runId })
  const stale = new StaleLeases(store.leases, clock, safeReport(report))
  const lease: LeaseOptions = { leases: store.leases, local, stale, clock, busy, cancel: stop, ...limits }
  const histories = new KeptHistories(limits.keptChars)
  const window = options.history && new HistoryWindow(options.history)
  const { wrapJournal } = options
  checkOption(
    wrapJournal === undefined || typeof wrapJournal === 'function',
    'runner',
    'wrapJournal must be a function',
    wrapJournal,
  )
  const shared = { flow, store, durability, unknownCalls, wrapJournal, callbacks, limits, pending, clock, report }
  const parts: RunnerParts = { ...shared, lease, histories, window }
  const settingsOf = ({ signal, prepare, timeoutMs = limits.runMs }: FlowRequest, runId: string): RunSettings => ({
    runId,
    callbacks,
    clock,
    timeoutMs,
    ...(signal && { signal }),
    ...(prepare && { prepare }),
    ...(report && { report }),
  })
  const start = (intent: RunIntent, request: FlowRequest, runId: string): Run<Output> => {
    checkPolicies(request)
    const { session, carry, pending: ownPending = pending } = request
    const input: RunInput = { messages: [], ...intent.input }
    const settings = settingsOf(request, runId)
    if (!session) {
      const state = input.state && { state: standaloneState(input.state) }
      return startRun(flow, input, { ...settings, ...state }, standaloneRun(parts, input))
    }
    checkCarry(carry)
    const host = new ThreadRun(parts, runId, session, request, {
      begins: true,
      open: (leased) => openThread(parts, intent, leased, ownPending, carry),
    })
    return startRun(flow, input, { ...settings, session, canInterrupt: true }, host)
  }
  const run: FlowRunner<Output>['run'] = (input, request = {}) => {
    checkOptionNames('run', request, REQUEST, REQUEST_ALIASES)
    const runId = runIdOf(request)
    const read = readInput<RunInput>(input, runId, 'run')
    checkOptionNames('run', read, INPUT)
    return start({ input: read }, request, runId)
  }
  return {
    agent: flow,
    run,
    query(text, request) {
      checkOption(typeof text === 'string', 'query', 'expected a text', text)
      return run(text, request)
    },
    resume(answers: Answers, given) {
      checkOptionNames('resume', given, RESUME, REQUEST_ALIASES)
      const { messages, additions, options: runOptions, state, processed, closed, ...request } = given
      checkOption(
        request.session !== undefined,
        'resume',
        'expected the session of the thread with the open questions',
        undefined,
      )
      const input = {
        ...(messages && messages.length > 0 && { messages }),
        ...(additions && { additions }),
        ...(runOptions && { options: runOptions }),
        ...(state && { state }),
        ...(processed && { processed }),
      }
      return start({ ...withClosed(answers, closed), input }, request, runIdOf(request))
    },
    continue(session, request = {}) {
      checkOptionNames('continue', request, CONTINUE, CONTINUE_ALIASES)
      return continueRun(parts, session, request, settingsOf)
    },
    async lost(query = {}) {
      checkOptionNames('lost', query, LOST)
      const { before = clock.now(), limit = 100 } = query
      return store.journal ? store.journal.lost({ before, limit }) : []
    },
    async fork(session, request) {
      checkOptionNames('fork', request, FORK, FORK_ALIASES)
      // biome-ignore lint/plugin: a branch is made outside of runs, so no replay needs its id
      const { to = crypto.randomUUID(), ...point } = request
      const { ref } = await store.threads.fork(session, { ...point, to })
      return ref
    },
    cancel,
  }
}

/** Contract: throws `VALIDATION_FAILED` for a value that a store cannot keep. */
function checkCarry(carry: unknown): void {
  const broken = carry === undefined ? undefined : notJson(carry)
  if (broken === undefined) return
  throw new KernelError(
    'VALIDATION_FAILED',
    `run: carry must be plain JSON, which it is not at ${broken || 'its root'}, ${got(carry)}`,
  )
}

function runIdOf({ runId }: RunRequest): string {
  // biome-ignore lint/plugin: a root run's id is where replay begins; everything in it is named after it
  return runId ?? crypto.randomUUID()
}

function checkPolicies({ busy = 'reject', pending = 'reject' }: Pick<FlowRequest, 'busy' | 'pending'>): void {
  check('busy', busy, BUSY)
  check('pending', pending, PENDING)
}

function check(name: string, value: unknown, known: readonly unknown[]): void {
  if (!known.includes(value)) checkOption(false, 'runner', `${name} must be one of ${known.join(', ')}`, value)
}

const OPTIONS: OptionNames<RunnerOptions> = {
  agent: true,
  store: true,
  callbacks: true,
  limits: true,
  durability: true,
  unknownCalls: true,
  wrapJournal: true,
  history: true,
  busy: true,
  pending: true,
  clock: true,
  report: true,
}
const OPTION_ALIASES = { timeoutMs: 'limits', memory: 'store' } as const
const REQUEST: OptionNames<FlowRequest> = {
  session: true,
  runId: true,
  signal: true,
  timeoutMs: true,
  pending: true,
  prepare: true,
  carry: true,
  busy: true,
}
const REQUEST_ALIASES = {
  abortSignal: 'signal',
  timeout: 'timeoutMs',
  thread: 'session',
  threadId: 'session',
  id: 'runId',
} as const
const SETTINGS: OptionNames<Omit<RunInput, 'messages'>> = {
  additions: true,
  options: true,
  state: true,
  processed: true,
}
const INPUT: OptionNames<RunInput> = { messages: true, ...SETTINGS }
const RESUME: OptionNames<FlowRequest & Partial<RunInput> & ClosedQuestions> = {
  ...REQUEST,
  ...INPUT,
  closed: true,
}
const CONTINUE: OptionNames<ContinueRequest> = {
  runId: true,
  signal: true,
  timeoutMs: true,
  busy: true,
  restore: true,
  shown: true,
  again: true,
}
const CONTINUE_ALIASES = { abortSignal: 'signal', timeout: 'timeoutMs', id: 'runId' } as const
const FORK: OptionNames<ForkRequest> = { at: true, before: true, to: true }
const FORK_ALIASES = { messageId: 'at', message: 'at', threadId: 'to', id: 'to' } as const
const LOST: OptionNames<LostQuery> = { before: true, limit: true }
const UNKNOWN_CALLS = ['tell', 'ask']
const DURABILITY = ['step', 'turn'] satisfies Durability[]
const CANCEL: OptionNames<CancelRequest> = { mode: true, runId: true }
const BUSY = ['reject', 'queue', 'interrupt'] satisfies BusyPolicy[]
const PENDING = ['reject', 'drop'] satisfies PendingPolicy[]
