import type { RunErrorEvent } from '@ag-ui/core'
import type { ThreadRef } from '@troupe/kernel'
import { lostRunOf } from '../lost/lost-runs.ts'
import type { RunAgentInput } from '../protocol.ts'
import { runningIn } from '../session/thread-holds.ts'
import { canFollow } from './can-follow.ts'
import type { RouteContext } from './route.ts'
import type { HandlerParts } from './serve-run.ts'

/** The lost run that a refused request leads to, because it repeats the request that began that run, or brings nothing new. */
export async function lostRunFor(
  parts: HandlerParts,
  ref: ThreadRef,
  input: Partial<RunAgentInput> | null,
  { code, metadata }: RunErrorEvent,
  context: RouteContext,
): Promise<string | undefined> {
  if (parts.lostRuns !== 'continue') return undefined
  const runId = code === 'RUN_ID_TAKEN' ? input?.runId : code === 'RUN_LOST' ? runningIn(metadata?.holder) : undefined
  if (runId === undefined || !(await isLost(parts, ref, runId))) return undefined
  return (await canFollow(parts, ref, runId, context)) ? runId : undefined
}

/** Whether the process of a run is gone. */
export async function isLost({ store }: HandlerParts, ref: ThreadRef, runId: string): Promise<boolean> {
  return lostRunOf(await store.threads.get(ref)) === runId
}
