import type { RunErrorEvent } from '@ag-ui/core'
import type { Clock, KernelError, Owner, Store, ThreadRef } from '@troupe/kernel'
import type { LostRuns } from '../lost/lost-runs.ts'
import type { AgUiEvent } from '../protocol.ts'
import { continueServedRun } from '../run/continue-served-run.ts'
import type { ExecutionState } from '../run/execution-state.ts'
import type { Executions } from '../run/executions.ts'
import { follow } from '../run/follow.ts'
import type { RunReaders } from '../run/run-readers.ts'
import type { ServedAgent } from '../run/served-agent.ts'
import type { Understood } from '../write/understood.ts'
import type { Encoding } from './encoding.ts'
import { eventStream } from './event-stream.ts'
import type { OpenStreams } from './open-streams.ts'
import type { RouteContext } from './route.ts'

/** The parts that all routes share. */
export interface HandlerParts {
  readonly agent: ServedAgent
  /** The runs of this process. */
  readonly executions: Executions
  readonly store: Pick<Store, 'threads' | 'runLog'>
  readonly clock: Clock
  readonly keepAliveMs: number
  readonly detachedMs: number
  readonly pageChars: number
  /** The streams of each user. */
  readonly streams: OpenStreams
  readonly drainMs: number
  readonly lookMs: number
  readonly onDisconnect: 'detach' | 'cancel'
  readonly lostRuns: LostRuns
  /** What a client accepts that says this of its version. */
  readonly understood: (version: unknown) => Understood
  readonly report: (error: KernelError, about: { readonly requestId?: string }) => void
}

/** The run to read, and from where; `lead` comes before the events of the log. */
interface Reading {
  readonly ref: ThreadRef
  readonly runId: string
  readonly after: number
  readonly lead?: AsyncIterator<string | Uint8Array>
}

/** A response that follows a run. Contract: a reader that is slow, stalls or leaves does not hold up the run. */
export function serveRun(
  parts: HandlerParts,
  reading: Reading,
  encoding: Encoding,
  context: Pick<RouteContext, 'requestId' | 'prepare' | 'waitUntil'>,
): Response {
  const { requestId, waitUntil } = context
  const { agent, executions, store, clock, lookMs, lostRuns, onDisconnect, report } = parts
  const { ref, runId } = reading
  let joined: { readonly run: ExecutionState; readonly readers: RunReaders } | undefined
  const join = (run: ExecutionState | undefined) => {
    if (joined || !run?.readers) return
    joined = { run, readers: run.readers }
    run.readers.join()
  }
  const proceed = async () => {
    // Another process may do it.
    if (executions.stopping) return true
    const run = await continueServedRun(parts, ref, runId, context)
    if ('message' in run) return isTemporary(run)
    join(run)
    waitUntil(run.tidied)
    return true
  }
  const progress = async () => agent.progress?.(ref, runId)
  const reportHere = (error: KernelError) => report(error, { requestId })
  const following = {
    executions,
    store,
    clock,
    ref,
    runId,
    lookMs,
    lostRuns,
    agent,
    proceed,
    progress,
    report: reportHere,
  }
  const leave = parts.streams.enter(ref)
  join(executions.find(ref, runId))
  const body = eventStream({
    after: reading.after,
    ...(reading.lead && { lead: reading.lead }),
    follow: (after, signal) => follow({ ...following, after, signal }),
    runId,
    encoding,
    clock,
    requestId,
    keepAliveMs: parts.keepAliveMs,
    drainMs: parts.drainMs,
    onEnd(gone) {
      leave()
      if (!joined) return
      const left = joined.readers.leave()
      if (gone && onDisconnect === 'cancel' && left === 0) joined.run.stop()
    },
    report: reportHere,
  })
  return new Response(body, { headers: streamHeaders(encoding.contentType) })
}

/** Whether a run that could not be continued may be continued later. */
function isTemporary({ code, metadata }: RunErrorEvent): boolean {
  return code === 'THREAD_BUSY' || code === 'EXECUTION_LIMIT' || metadata?.retryable === true
}

/** A response of these events alone, which are not in a log. */
export function serveEvents(events: readonly AgUiEvent[], encoding: Encoding): Response {
  const frames = events.map((event) => encoding.aside(event))
  return new Response(new Blob(frames as (string | Uint8Array<ArrayBuffer>)[]).stream(), {
    headers: streamHeaders(encoding.contentType),
  })
}

/** A response of these pieces alone. Contract: read at the pace of the reader, who is dropped if it takes nothing for `drainMs`. */
export function servePieces(
  { streams, clock, keepAliveMs, drainMs, report }: HandlerParts,
  owner: Owner,
  lead: AsyncIterator<string | Uint8Array>,
  encoding: Pick<Encoding, 'aside'>,
  requestId: string,
  headers: Record<string, string>,
): Response {
  const body = eventStream({
    after: 0,
    lead,
    follow: () => nothing(),
    runId: '',
    encoding: { contentType: '', encode: () => undefined, spread: () => nothing(), aside: encoding.aside },
    clock,
    requestId,
    keepAliveMs,
    drainMs,
    onEnd: streams.enter(owner),
    report: (error) => report(error, { requestId }),
  })
  return new Response(body, { headers })
}

async function* nothing(): AsyncGenerator<never, void> {}

/** The headers of a stream of events. */
export function streamHeaders(contentType: string): Record<string, string> {
  return {
    'content-type': contentType,
    'cache-control': 'no-cache, no-transform',
    'x-accel-buffering': 'no',
    vary: 'accept',
  }
}
