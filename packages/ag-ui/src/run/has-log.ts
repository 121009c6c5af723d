import { KernelError, type Store, type ThreadRef } from '@troupe/kernel'
import type { Executions } from './executions.ts'

/** Whether an owner has a run of this id with at least one logged event. */
export async function hasLog(
  { executions, store }: { readonly executions: Executions; readonly store: Pick<Store, 'runLog'> },
  ref: ThreadRef,
  runId: string,
): Promise<boolean> {
  if (executions.find(ref, runId)?.log) return true
  const { signal } = new AbortController()
  const after = Number.MAX_SAFE_INTEGER
  try {
    for await (const _ of store.runLog.follow(ref, runId, { after, live: false, signal })) break
    return true
  } catch (error) {
    // No run can have an id that the store refuses.
    if (KernelError.is(error, 'NOT_FOUND') || KernelError.is(error, 'VALIDATION_FAILED')) return false
    throw error
  }
}
