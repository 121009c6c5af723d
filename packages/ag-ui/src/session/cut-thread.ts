import { type ForkPoint, KernelError, type Thread, type ThreadRef, type ThreadStore } from '@troupe/kernel'
import { got } from '@troupe/kernel/kit'
import type { SessionSettings } from './session-settings.ts'

/**
 * Cuts a thread for a client that shows less of it: `<id>~1`, `<id>~2` and so on have what it was before.
 * Contract: one step of the store, under a short lease; `THREAD_BUSY` while a run holds the thread, or if it has changed since it was read.
 */
export function cutThread({ store, holds }: SessionSettings, known: Thread, point: ForkPoint): Promise<Thread> {
  const { threads } = store
  const { ref } = known
  return holds.hold(ref, async ({ token }) => {
    const thread = await threads.get(ref)
    if (thread?.version !== known.version || thread.seq !== known.seq) throw changed(ref)
    for (let number = numberOf(thread, ref) + 1; ; number++) {
      try {
        return await threads.cut(ref, { ...point, to: `${ref.threadId}~${number}` }, token)
      } catch (error) {
        if (!KernelError.is(error, 'THREAD_ID_TAKEN')) throw error
      }
    }
  })
}

/** The names that a thread had before it was cut, the last one first. */
export async function cutOff(threads: ThreadStore, thread: Thread): Promise<readonly ThreadRef[]> {
  const { ref } = thread
  const found: ThreadRef[] = []
  for (let at: Thread | undefined = thread; at && numberOf(at, ref) > 0; ) {
    const before: ThreadRef = { ...ref, threadId: `${ref.threadId}~${numberOf(at, ref)}` }
    found.push(before)
    at = await threads.get(before)
  }
  return found
}

/** The number of the cut that a thread is from; 0 if it is from none. */
function numberOf({ forkedFrom }: Thread, { threadId }: ThreadRef): number {
  const name = forkedFrom?.threadId ?? ''
  const number = name.startsWith(`${threadId}~`) ? name.slice(threadId.length + 1) : ''
  return /^[1-9]\d{0,8}$/.test(number) ? Number(number) : 0
}

function changed({ threadId }: ThreadRef): KernelError {
  return new KernelError('THREAD_BUSY', `cut: the thread has changed since it was read, ${got(threadId)}`, {
    retryable: true,
  })
}
