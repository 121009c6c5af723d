import { KernelError, type Owner, type ThreadStore, type ThreadSummary } from '@troupe/kernel'
import { pages } from '@troupe/kernel/kit'
import { forget } from './forget.ts'
import type { SessionSettings } from './session-settings.ts'
import { isHold } from './thread-holds.ts'

const PAGE = 500

/** Makes room for one more session of a user by ending the one that was idle longest. Contract: never ends one that runs or waits for a client; `SESSION_LIMIT` if there is no other. */
export async function makeRoom(settings: SessionSettings, owner: Owner): Promise<void> {
  const { maxSessionsPerUser, store, report } = settings
  if (!Number.isFinite(maxSessionsPerUser)) return
  const all = withoutCutOff(await sessionsOf(store.threads, owner))
  let over = all.length + 1 - maxSessionsPerUser
  const idle = all.filter(mayGo).sort((a, b) => a.updatedAt - b.updatedAt || a.seq - b.seq)
  for (const { ref } of idle) {
    if (over <= 0) return
    try {
      if (await forget(settings, ref, mayGo)) over--
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
function mayGo(thread: ThreadSummary): boolean {
  return !thread.waiting && (thread.runId === undefined || isHold(thread.runId))
}

/** What was cut off from a session does not count: it ends with the session. */
function withoutCutOff(all: readonly ThreadSummary[]): readonly ThreadSummary[] {
  const ids = new Set(all.map(({ ref }) => ref.threadId))
  return all.filter(({ ref: { threadId } }) => !/~\d+$/.test(threadId) || !ids.has(threadId.replace(/~\d+$/, '')))
}

async function sessionsOf(threads: ThreadStore, owner: Owner): Promise<ThreadSummary[]> {
  const all: ThreadSummary[] = []
  for await (const page of pages(PAGE, (query) => threads.list(owner, query))) all.push(...page)
  return all
}
