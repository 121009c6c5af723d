import { type Json, KernelError, type Store, type ThreadRef } from '@troupe/kernel'
import type { AgUiEvent } from '../protocol.ts'
import { runError } from '../translate/run-error.ts'

/** Closes the log of a run whose process is gone; a second follower finds it closed. */
export async function closeLost(
  { runLog }: Pick<Store, 'runLog'>,
  ref: ThreadRef,
  runId: string,
  after: number,
): Promise<void> {
  const terminal: AgUiEvent = runError(new KernelError('RUN_LOST', 'The server of this run is gone.'))
  const close = async (last: number) => {
    try {
      await runLog.append(ref, runId, last, [terminal as unknown as Json], true)
      return true
    } catch (error) {
      if (KernelError.is(error, 'VERSION_CONFLICT') || KernelError.is(error, 'NOT_FOUND')) return false
      throw error
    }
  }
  if (await close(after)) return
  const last = await lastOf(runLog, ref, runId)
  // A reader that claims to have seen more than the log holds would wait for ever.
  if (last < after) await close(last)
}

async function lastOf(runLog: Store['runLog'], ref: ThreadRef, runId: string): Promise<number> {
  const { signal } = new AbortController()
  let last = 0
  for await (const batch of runLog.follow(ref, runId, { after: 0, live: false, signal }))
    last = batch.at(-1)?.seq ?? last
  return last
}
