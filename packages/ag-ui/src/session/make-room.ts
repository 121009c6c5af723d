import { KernelError, type Owner, type Thread, type ThreadStore } from '@troupe/kernel'
import { forget, isPending } from './forget.ts'
import type { SessionParts } from './session-manager.ts'
import { isHold } from './thread-hold.ts'

const PAGE = 500

/** Makes room for one more session of a user by ending the one that was idle longest. Contract: never ends one that runs or waits for a client; `SESSION_LIMIT` if there is no other. */
export async function makeRoom(parts: SessionParts, owner: Owner): Promise<void> {
  const { maxSessionsPerUser, store, report } = parts
  if (!Number.isFinite(maxSessionsPerUser)) return
  const all = await sessionsOf(store.threads, owner)
  let over = all.length + 1 - maxSessionsPerUser
  const idle = all.filter(mayGo).sort((a, b) => a.updatedAt - b.updatedAt || a.seq - b.seq)
  for (const { ref } of idle) {
    if (over <= 0) return
    try {
      if (await forget(parts, ref, mayGo)) over--
    } catch (error) {
      if (!KernelError.is(error, 'THREAD_BUSY')) report(KernelError.from(error, 'STORE_FAILED'))
    }
  }
  if (over <= 0) return
  throw new KernelError(
    'SESSION_LIMIT',
    `session: the limit of ${maxSessionsPerUser} per user is reached, and every session runs or waits for a client`,
    {
      retryable: true,
    },
  )
}

/** Whether a session may be ended. Under a session hold a thread has no run. */
function mayGo(thread: Thread): boolean {
  return !isPending(thread) && (thread.runId === undefined || isHold(thread.runId))
}

async function sessionsOf(threads: ThreadStore, owner: Owner): Promise<Thread[]> {
  const all: Thread[] = []
  let after = 0
  for (;;) {
    const page = await threads.list(owner, { after, limit: PAGE })
    all.push(...page)
    const last = page.at(-1)
    if (!last || page.length < PAGE) return all
    after = last.seq
  }
}
