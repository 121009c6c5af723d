import { EventType, type RunErrorEvent } from '@ag-ui/core'
import { readJson } from '@troupe/http'
import { KernelError, type ThreadRef } from '@troupe/kernel'
import { sleep, withinTime } from '@troupe/kernel/kit'
import type { RunAgentInput } from '../protocol.ts'
import { continueServedRun } from '../run/continue-served-run.ts'
import { hasLog } from '../run/has-log.ts'
import { startServedRun } from '../run/start-served-run.ts'
import { runningIn } from '../session/thread-holds.ts'
import { canFollow } from './can-follow.ts'
import { rejoin } from './connect.ts'
import { type Encoding, encodingFor } from './encoding.ts'
import { isLost, lostRunFor } from './lost-run-for.ts'
import { acceptedBy, SSE } from './negotiate.ts'
import { json, refuse, statusOf } from './refuse.ts'
import type { Route, RouteContext } from './route.ts'
import { type HandlerParts, serveEvents, serveRun } from './serve-run.ts'
import { threadOf } from './thread-of.ts'

/** How long a cancel request waits for a run of another process, which checks for it every two seconds. */
const ELSEWHERE_MS = 5_000

/** The routes of runs: start, follow, continue, cancel. */
export function runRoutes(parts: HandlerParts, bodyBytes: number): readonly Route[] {
  const { agent, executions, onDisconnect, lostRuns, store, streams, understood } = parts
  return [
    {
      name: 'run',
      method: 'POST',
      path: '/',
      async handle(context) {
        const { owner, request, requestId, waitUntil, query } = context
        const type = acceptedBy(request)
        // Not validated yet: the agent does that.
        const input = (await readJson(request, bodyBytes)) as RunAgentInput
        if (executions.stopping) throw stopping()
        streams.checkRoom(owner)
        const starting = startServedRun(parts, input, owner, context)
        waitUntil(starting.then((run) => ('message' in run ? undefined : run.tidied)))
        const run = await starting
        const encoding = await encodingFor(type, understood(input?.protocolVersion ?? query.get('protocolVersion')))
        if ('message' in run) {
          const ref = { ...owner, threadId: input?.threadId }
          const lost = await lostRunFor(parts, ref, input, run, context)
          if (lost !== undefined) return rejoin(parts, ref, lost, encoding, context)
          return refused(parts, ref, run, encoding, requestId)
        }
        if (onDisconnect === 'cancel' && request.signal.aborted) run.stop()
        return serveRun(parts, { ref: run.ref, runId: run.runId, after: 0 }, encoding, context)
      },
    },
    {
      name: 'follow',
      method: 'GET',
      path: '/threads/:threadId/runs/:runId',
      async handle(context) {
        const { owner, params, request, query } = context
        const { threadId, runId } = params as { threadId: string; runId: string }
        const type = acceptedBy(request)
        const after = positionOf(context, runId)
        const ref = { ...owner, threadId }
        if (!(await canFollow(parts, ref, runId, context))) throw runUnknown()
        const encoding = await encodingFor(type, understood(query.get('protocolVersion')))
        return serveRun(parts, { ref, runId, after }, encoding, context)
      },
    },
    {
      name: 'continue',
      method: 'POST',
      path: '/threads/:threadId/runs/:runId/continue',
      async handle(context) {
        const { params, requestId, waitUntil } = context
        const { ref, unfinished } = await threadOf(store, context)
        const runId = params.runId as string
        if (lostRuns === 'leave' || unfinished !== runId) throw runUnknown()
        if (executions.stopping) throw stopping()
        const run = await continueServedRun(parts, ref, runId, context)
        if ('message' in run) return refused(parts, ref, run, await encodingFor(SSE, understood(undefined)), requestId)
        waitUntil(run.tidied)
        return json(202, { continued: true })
      },
    },
    {
      name: 'cancel',
      method: 'POST',
      path: '/threads/:threadId/runs/:runId/cancel',
      async handle({ owner, params, requestId }) {
        const { threadId, runId } = params as { threadId: string; runId: string }
        const ref = { ...owner, threadId }
        if (!(await hasLog(parts, ref, runId))) throw runUnknown()
        const local = executions.find(ref, runId)
        local?.stop()
        const cancelled = local !== undefined || (await agent.cancel(ref, runId))
        if (!cancelled && (await isLost(parts, ref, runId))) return refuse(NOTHING_TO_CANCEL, requestId)
        const ended = local ? await executions.endsSoon(local) : !cancelled || (await endsElsewhere(parts, ref, runId))
        return json(ended ? 200 : 202, { cancelled, ended })
      },
    },
  ]
}

/** The response for a run that never began: an HTTP error, or a stream of one RUN_ERROR for a code without a status. */
async function refused(
  { store }: HandlerParts,
  ref: ThreadRef,
  { code = 'AGENT_ERROR', message, metadata }: RunErrorEvent,
  encoding: Encoding,
  requestId: string,
): Promise<Response> {
  if (statusOf(code) === undefined) {
    return serveEvents([{ type: EventType.RUN_ERROR, code, message, ...(metadata && { metadata }) }], encoding)
  }
  if (code !== 'THREAD_BUSY' && code !== 'RUN_LOST') return refuse({ code, message }, requestId)
  // The agent may leave out the holder; by now that run may be over.
  const runId: string | undefined = runningIn(metadata?.holder) ?? runningIn(await store.threads.get(ref))
  return refuse({ code, message, ...(runId !== undefined && { more: { holder: { runId } } }) }, requestId)
}

/** The position from which a reader continues: `Last-Event-ID`, which browsers repeat, takes precedence over `after`. */
function positionOf({ request, query }: RouteContext, runId: string): number {
  const header = request.headers.get('last-event-id')
  if (header) {
    const seen = utf8(header)
    const cut = seen.lastIndexOf(':')
    if (seen.slice(0, cut) !== runId) throw invalid('last-event-id', `expected ${runId}:<sequence>`)
    return sequenceOf('last-event-id', seen.slice(cut + 1))
  }
  return sequenceOf('after', query.get('after') ?? '0')
}

/** Decodes a header: browsers send UTF-8, and servers read one character per byte. */
function utf8(header: string): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(Uint8Array.from(header, (byte) => byte.charCodeAt(0)))
  } catch {
    return header
  }
}

function sequenceOf(field: string, text: string): number {
  const number = /^\d{1,15}$/.test(text) ? Number(text) : undefined
  if (number === undefined) throw invalid(field, 'expected a whole number from 0 on')
  return number
}

function invalid(path: string, message: string): KernelError {
  return new KernelError('VALIDATION_FAILED', `${path}: ${message}`, { details: { issues: [{ path, message }] } })
}

const NOTHING_TO_CANCEL = {
  code: 'RUN_LOST',
  message: 'The server of this run is gone, so there is nothing to cancel.',
}

function runUnknown(): KernelError {
  return new KernelError('NOT_FOUND', 'run: not found')
}

function stopping(): KernelError {
  return new KernelError('SERVER_STOPPING', 'The server is stopping. Try again.')
}

/** Whether a run of another process closes its log and releases the thread within a few seconds. */
async function endsElsewhere({ store, clock }: HandlerParts, ref: ThreadRef, runId: string): Promise<boolean> {
  const controller = new AbortController()
  const closed = async () => {
    const after = Number.MAX_SAFE_INTEGER
    for await (const _ of store.runLog.follow(ref, runId, { after, signal: controller.signal }));
    while (!controller.signal.aborted && (await store.threads.get(ref))?.runId === runId) {
      await sleep(clock, 50)
    }
  }
  const done = closed().then(
    () => true,
    () => true,
  )
  const ended = await withinTime(clock, ELSEWHERE_MS, done, () => false)
  controller.abort()
  return ended
}
