import { type Clock, KernelError, type Message, type Thread, type ThreadRef, type ThreadStore } from '@troupe/kernel'
import type { SessionParts } from './session-manager.ts'

const PAGE = 500

/**
 * Ends a session: passes its messages to memory, then deletes it.
 * Contract: `wanted` is called under the lease, so that no run begins in between; if memory fails, it rejects and deletes nothing.
 */
export async function forget(
  { store, memory, memoryTimeoutMs, clock, holds }: SessionParts,
  ref: ThreadRef,
  wanted: (thread: Thread) => boolean,
): Promise<boolean> {
  const { threads } = store
  // Do not take a lease on a thread that does not exist.
  if (!(await threads.get(ref))) return false
  return holds.hold(ref, async ({ confirm }) => {
    const thread = await threads.get(ref)
    if (!thread || !wanted(thread)) return false
    if (memory) {
      await inTime(clock, memoryTimeoutMs, memory.add(ref, messagesOf(threads, ref)))
      await confirm()
    }
    return threads.delete(ref)
  })
}

/** Limits the time of a memory, which must not block a thread, and the sweep, for ever. */
async function inTime(clock: Clock, ms: number, work: Promise<void>): Promise<void> {
  const late = Promise.withResolvers<never>()
  const cancel = clock.after(ms, () =>
    late.reject(new KernelError('TIMEOUT', `memory: exceeded its time limit of ${ms} ms`)),
  )
  try {
    await Promise.race([work, late.promise])
  } finally {
    cancel()
  }
}

async function* messagesOf(threads: ThreadStore, ref: ThreadRef): AsyncGenerator<Message> {
  let after = 0
  for (;;) {
    const page = await threads.messages(ref, { after, limit: PAGE })
    for (const { message } of page) yield message
    const last = page.at(-1)
    if (!last || page.length < PAGE) return
    after = last.seq
  }
}

/** Whether a session waits for a client: for the result of a call, or for the answer to a question. */
export function isPending({ openCalls, checkpoint }: Thread): boolean {
  return openCalls.length > 0 || (checkpoint !== undefined && checkpoint.resumedBy === undefined)
}
