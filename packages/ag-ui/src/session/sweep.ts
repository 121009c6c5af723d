import { KernelError, type ThreadSummary } from '@troupe/kernel'
import { idlePages } from '@troupe/kernel/kit'
import { forget } from './forget.ts'
import type { SessionSettings } from './session-settings.ts'

/** The result of a sweep. */
export interface SweepResult {
  readonly deleted: number
  /** Expired, but waiting for a client. */
  readonly pending: number
  /** Could not be passed to memory or deleted; the next sweep tries again. */
  readonly failed: number
  /** Logs of runs that were deleted. */
  readonly logs: number
}

const PAGE = 100

/** Deletes the expired sessions of all owners, then the logs of runs that ended long ago in those that stay. */
export async function sweep(settings: SessionSettings): Promise<SweepResult> {
  const sessions = await sweepSessions(settings)
  return { ...sessions, logs: await sweepLogs(settings) }
}

async function sweepSessions(settings: SessionSettings): Promise<Omit<SweepResult, 'logs'>> {
  const { store, clock, sessionTimeoutMs, apps } = settings
  const before = clock.now() - sessionTimeoutMs
  const sum = { deleted: 0, pending: 0, failed: 0 }
  if (!Number.isFinite(before)) return sum
  for await (const page of idlePages(store.threads, { before, limit: PAGE })) {
    for (const thread of page) {
      if (apps && !apps.includes(thread.ref.app)) continue
      if (!isExpired(settings, thread)) sum.pending++
      else await end(settings, thread, sum)
    }
  }
  return sum
}

async function sweepLogs({ store, clock, runLogMs, apps }: SessionSettings): Promise<number> {
  const before = clock.now() - runLogMs
  if (!store.runLog || !Number.isFinite(before)) return 0
  for (let sum = 0; ; ) {
    const deleted = await store.runLog.prune({ before, limit: PAGE, ...(apps && { apps }) })
    sum += deleted
    if (deleted < PAGE) return sum
  }
}

async function end(
  settings: SessionSettings,
  { ref }: ThreadSummary,
  sum: { deleted: number; failed: number },
): Promise<void> {
  try {
    if (await forget(settings, ref, (thread) => isExpired(settings, thread))) sum.deleted++
  } catch (error) {
    // A run has begun: the session is no longer idle.
    if (KernelError.is(error, 'THREAD_BUSY')) return
    sum.failed++
    settings.report(KernelError.from(error, 'STORE_FAILED'))
  }
}

function isExpired({ clock, sessionTimeoutMs, maxPendingMs }: SessionSettings, thread: ThreadSummary): boolean {
  const limit = thread.waiting ? Math.max(maxPendingMs, sessionTimeoutMs) : sessionTimeoutMs
  return clock.now() - thread.updatedAt > limit
}
