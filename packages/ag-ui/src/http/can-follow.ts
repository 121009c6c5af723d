import { KernelError, type ThreadRef } from '@troupe/kernel'
import { lostRunOf } from '../lost/lost-runs.ts'
import { continueServedRun } from '../run/continue-served-run.ts'
import { hasLog } from '../run/has-log.ts'
import type { RouteContext } from './route.ts'
import type { HandlerParts } from './serve-run.ts'

/** Whether an owner has a run of this id with a log. Contract: a run that broke off before its first event is continued first, if lost runs are. */
export async function canFollow(
  parts: HandlerParts,
  ref: ThreadRef,
  runId: string,
  context: Pick<RouteContext, 'requestId' | 'prepare' | 'waitUntil'>,
): Promise<boolean> {
  const { store, lostRuns, executions, agent } = parts
  if (await hasLog(parts, ref, runId)) return true
  if (lostRuns !== 'continue' || executions.stopping) return false
  const thread = await store.threads.get(ref).catch(refusedId)
  const isCarried = async () => thread?.unfinished === runId && (await agent.progress?.(ref, runId)) !== undefined
  if (lostRunOf(thread) !== runId && !(await isCarried())) return false
  const run = await continueServedRun(parts, ref, runId, context)
  if ('message' in run) return false
  context.waitUntil(run.tidied)
  return true
}

/** No thread can have an id that the store refuses. */
function refusedId(error: unknown): undefined {
  if (!KernelError.is(error, 'VALIDATION_FAILED')) throw error
}
