import { KernelError, type Message, type ThreadRef, type ThreadStore, type ThreadSummary } from '@troupe/kernel'
import { pages, withinTime } from '@troupe/kernel/kit'
import { cutOff } from './cut-thread.ts'
import type { SessionSettings } from './session-settings.ts'

const PAGE = 500

/**
 * Ends a session, and then what was cut off from it: passes its messages to memory, then deletes it.
 * Contract: `wanted` is called under the lease, so that no run begins in between; if memory fails, it rejects and deletes nothing.
 */
export async function forget(
  settings: SessionSettings,
  ref: ThreadRef,
  wanted: (thread: ThreadSummary) => boolean,
): Promise<boolean> {
  const { threads } = settings.store
  const found = await threads.get(ref)
  // Do not take a lease on a thread that does not exist.
  if (!found) return false
  const older = await cutOff(threads, found)
  const deleted = await forgetOne(settings, ref, wanted)
  if (deleted) for (const one of older) await forget(settings, one, () => true)
  return deleted
}

function forgetOne(
  { store, memory, memoryTimeoutMs, clock, holds }: SessionSettings,
  ref: ThreadRef,
  wanted: (thread: ThreadSummary) => boolean,
): Promise<boolean> {
  const { threads } = store
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
