import { KernelError, type Message, type ThreadRef, type ThreadStore, type ThreadSummary } from '@troupe/kernel'
import { pages, withinTime } from '@troupe/kernel/kit'
import type { SessionSettings } from './session-settings.ts'

const PAGE = 500

/**
 * Ends a session: passes its messages to memory, then deletes it.
 * Contract: `wanted` is called under the lease, so that no run begins in between; if memory fails, it rejects and deletes nothing.
 */
export async function forget(
  { store, memory, memoryTimeoutMs, clock, holds }: SessionSettings,
  ref: ThreadRef,
  wanted: (thread: ThreadSummary) => boolean,
): Promise<boolean> {
  const { threads } = store
  // Do not take a lease on a thread that does not exist.
  if (!(await threads.get(ref))) return false
  return holds.hold(ref, async ({ confirm }) => {
    const thread = await threads.get(ref)
    if (!thread || !wanted(thread)) return false
    if (memory) {
      // A memory must not block a thread, and the sweep, for ever.
      await withinTime(clock, memoryTimeoutMs, memory.add(ref, messagesOf(threads, ref)), () => {
        throw new KernelError('TIMEOUT', `memory: exceeded its time limit of ${memoryTimeoutMs} ms`)
      })
      await confirm()
    }
    return threads.delete(ref)
  })
}

async function* messagesOf(threads: ThreadStore, ref: ThreadRef): AsyncGenerator<Message> {
  for await (const page of pages(PAGE, (query) => threads.messages(ref, query))) {
    for (const { message } of page) yield message
  }
}
