import {
  type Agent,
  type CancelRequest,
  type Clock,
  KernelError,
  type Run,
  type RunInput,
  type Runner,
  type RunRequest,
  type Store,
  type Thread,
  type ThreadRef,
} from '@troupe/kernel'
import { checkOption, sleep } from '@troupe/kernel/kit'
import { readInput } from '@troupe/kernel/run'
import { threadBusy } from '@troupe/kernel/store'
import type { Engine } from './engine.ts'
import { beginEvents, type EventEntry, type EventLogPlace, readEvents } from './event-log.ts'
import type { Following } from './follow-events.ts'
import { RemoteRun } from './remote-run.ts'
import { RunEvents } from './run-events.ts'
import { orderedInput, type RunOrder, type SharedKeys, sharedValues } from './run-order.ts'

/** The parts of a remote runner. */
export interface RemoteRunnerParts {
  readonly agent: Agent
  /** The name under which workers have the agent. */
  readonly name: string
  readonly store: Pick<Store, 'threads' | 'leases' | 'runLog'>
  readonly engine: Engine
  readonly clock: Clock
  readonly shared: SharedKeys
  /** How long a thread waits for a worker to begin its run. */
  readonly submitMs: number
}

const PAUSE_MS = 250

/**
 * A runner whose runs are carried out by the workers of an engine.
 * Contract: takes the thread before it orders a run, so that a second run is refused at once; what was ordered is carried out, whatever becomes of this process.
 */
export function remoteRunner<Output>(parts: RemoteRunnerParts): Runner<Output> {
  const { agent, store, engine, clock, shared, name } = parts
  const place = (ref: ThreadRef, runId: string): EventLogPlace => ({ runLog: store.runLog, ref, runId, clock })

  const order = (request: RunRequest, input: RunInput, more: Pick<RunOrder, 'answers' | 'closed'> = {}): RunOrder => {
    const { session, runId, carry, timeoutMs, pending } = request
    checkOption(session !== undefined, 'run', 'a run on an engine needs a session', session)
    const values = sharedValues(shared, request, runId as string)
    return {
      ref: session as ThreadRef,
      runId: runId as string,
      agent: name,
      input: orderedInput(input),
      ...more,
      ...(Object.keys(values).length > 0 && { values }),
      ...(carry !== undefined && { carry }),
      ...(timeoutMs !== undefined && Number.isFinite(timeoutMs) && { timeoutMs }),
      ...(pending && { pending }),
    }
  }

  /** Whether the engine will still end the unfinished run of a thread. */
  const isCarried = async (thread: Thread): Promise<boolean> => {
    const { ref, unfinished = '' } = thread
    const [first] = await readEvents(place(ref, unfinished)).catch(none)
    return first?.type === '~order' && engine.carries(first.order)
  }

  const submit = async (wanted: RunOrder): Promise<void> => {
    for (let waited = 0; ; waited += PAUSE_MS) {
      try {
        return await engine.submit(wanted)
      } catch (error) {
        if (!KernelError.is(error) || !error.retryable || waited >= parts.submitMs) throw error
        await sleep(clock, PAUSE_MS)
      }
    }
  }

  const begin = async (wanted: RunOrder): Promise<void> => {
    const { ref, runId } = wanted
    const lease = await store.leases.acquire(ref, { runId, ttlMs: parts.submitMs, begins: true })
    try {
      const thread = lease.thread === undefined ? await store.threads.get(ref) : (lease.thread ?? undefined)
      if (thread?.unfinished === runId) throw new KernelError('RUN_ID_TAKEN', `run ${runId}: is under way; continue it`)
      if (thread?.unfinished !== undefined && (await isCarried(thread))) {
        throw threadBusy('run', { runId: thread.unfinished, expiresAt: clock.now() })
      }
      if (!thread) await store.threads.open(ref)
      const whole = lease.fresh ? { ...wanted, fresh: true as const } : wanted
      await beginEvents(place(ref, runId), whole).catch((error: unknown) => ordered(place(ref, runId), error))
      await submit(whole)
    } catch (error) {
      await store.leases.release(ref, lease.token).catch(() => undefined)
      throw error
    }
  }

  const start = (wanted: () => RunOrder, request: RunRequest & { readonly runId: string }): Run<Output> => {
    const { session: ref, runId, signal } = request
    return new RemoteRun<Output>({
      runId,
      begin: () => begin(wanted()),
      events: () => new RunEvents(place(ref as ThreadRef, runId), stopper(ref as ThreadRef, runId, signal)),
      stop: async () => void (await cancel(ref as ThreadRef, { runId })),
    })
  }

  const cancel = async (ref: ThreadRef, request: CancelRequest = {}): Promise<boolean> => {
    const { mode = 'now' } = request
    const runId = request.runId ?? (await runOf(ref))
    if (runId === undefined) return false
    const asked = await store.leases.requestCancel(ref, { mode, runId })
    if (!asked && (await store.threads.get(ref))?.unfinished !== runId) return false
    // The worker also learns it from the store, a little later.
    await engine.cancel({ ref, runId, agent: name }, mode).catch(() => undefined)
    return true
  }

  const runOf = async (ref: ThreadRef): Promise<string | undefined> => {
    const thread = await store.threads.get(ref)
    return thread?.unfinished ?? thread?.runId
  }

  /** Stops a run when its caller does; one that its caller leaves to other processes is only not followed any more. */
  const stopper = (ref: ThreadRef, runId: string, signal: AbortSignal | undefined): Following => {
    const following = new AbortController()
    const stop = () => {
      if (KernelError.is(signal?.reason, 'LEASE_LOST')) following.abort(signal?.reason)
      else void cancel(ref, { runId }).catch(() => undefined)
    }
    if (signal?.aborted) stop()
    else signal?.addEventListener('abort', stop, { once: true })
    return {
      signal: following.signal,
      isOver: async () => !(await engine.carries({ ref, runId, agent: name })),
      release: () => signal?.removeEventListener('abort', stop),
    }
  }
  return {
    agent: agent as Agent<Output>,
    run(input, request = {}) {
      const runId = runIdOf(request)
      const read = readInput<RunInput>(input, runId, 'run')
      return start(() => order({ ...request, runId }, read), { ...request, runId })
    },
    resume(answers, { messages = [], additions, options, state, processed, closed, ...request }) {
      const runId = runIdOf(request)
      const input: RunInput = {
        messages,
        ...(additions && { additions }),
        ...(options && { options }),
        ...(state && { state }),
        ...(processed && { processed }),
      }
      const more = { answers, ...(closed && { closed }) }
      return start(() => order({ ...request, runId }, input, more), { ...request, runId })
    },
    continue(ref, { runId = '', restore, shown, again, signal } = {}) {
      return new RemoteRun<Output>({
        runId,
        begin: async () => {
          const [first, second] = await readEvents(place(ref, runId)).catch(none)
          if (first?.type !== '~order') {
            throw new KernelError('NOT_FOUND', `continue: thread ${ref.threadId} has no run ${runId}`)
          }
          // The process that ordered it may have died before the engine knew.
          if (!second) await submit(first.order)
          restore?.(first.order.carry)
        },
        events: () => {
          const seen = !again && typeof shown === 'object' ? shown : []
          return new RunEvents(place(ref, runId), stopper(ref, runId, signal), seen)
        },
        stop: async () => void (await cancel(ref, { runId })),
      })
    },
    async progress(ref, runId) {
      const entries = await readEvents(place(ref, runId)).catch(none)
      return entries.length > 0 ? entries.length : undefined
    },
    async lost() {
      // The engine goes on with all of them.
      return []
    },
    async fork(ref, request) {
      const { to = crypto.randomUUID(), ...point } = request
      return (await store.threads.fork(ref, { ...point, to })).ref
    },
    cancel,
  }
}

function none(error: unknown): readonly EventEntry[] {
  if (!KernelError.is(error, 'NOT_FOUND')) throw error
  return []
}

/** Contract: a run that was ordered and never reached the engine may be ordered again; the log of any other is taken. */
async function ordered(place: EventLogPlace, error: unknown): Promise<void> {
  if (!KernelError.is(error, 'VERSION_CONFLICT')) throw error
  if ((await readEvents(place)).length === 1) return
  throw new KernelError('RUN_ID_TAKEN', `run ${place.runId}: a run with this id has begun before; use a new runId`)
}

function runIdOf({ runId }: RunRequest): string {
  return runId ?? crypto.randomUUID()
}
