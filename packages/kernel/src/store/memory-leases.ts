import type { CancelMode } from '../data/cancel.ts'
import { got } from '../data/kernel-error.ts'
import { UNKNOWN_RESULT } from '../history.ts'
import { check, checkId, failure, held, type Lease, locate, type MemoryData, type ThreadData } from './memory-data.ts'
import type { LeaseStore } from './store.ts'

/** From soft to hard. */
const MODES: readonly CancelMode[] = ['after-tools', 'after-model', 'now']

/** Leases in memory. */
export function memoryLeases(data: MemoryData): LeaseStore {
  return {
    async acquire(ref, { runId, ttlMs }) {
      const { owner, row, lease, live } = locate(data, ref)
      checkId('runId', runId)
      checkTtl(ttlMs)
      if (live) {
        const { runId, expiresAt } = live
        throw failure('THREAD_BUSY', 'another run holds the thread', runId, {
          retryable: true,
          details: { runId, expiresAt },
        })
      }
      const now = data.now()
      if (lease && row) failRuns(row, lease, now)
      const token = ++data.token
      data.owners.set(owner.key, owner)
      owner.leases.set(ref.threadId, { token, runId, expiresAt: now + ttlMs })
      return { token }
    },

    async renew(ref, token, ttlMs) {
      checkTtl(ttlMs)
      const lease = held(locate(data, ref), token)
      lease.expiresAt = data.now() + ttlMs
      return lease.cancel ? { cancel: lease.cancel } : {}
    },

    async release(ref, token) {
      const { owner, lease } = locate(data, ref)
      if (lease?.token === token) owner.leases.delete(ref.threadId)
    },

    async requestCancel(ref, { mode = 'now', runId }) {
      const { live } = locate(data, ref)
      check(MODES.includes(mode), `a cancel mode of ${MODES.join(', ')}`, mode)
      if (!live || (runId !== undefined && runId !== live.runId)) return false
      if (!live.cancel || MODES.indexOf(mode) > MODES.indexOf(live.cancel)) live.cancel = mode
      return true
    },
  }
}

function checkTtl(ttlMs: number): void {
  check(Number.isFinite(ttlMs) && ttlMs > 0, 'a positive ttlMs', ttlMs)
}

/** Finishes the run that the former holder left open, the runs nested in it, and their calls. */
function failRuns({ runs, calls }: ThreadData, { runId }: Lease, endedAt: number): void {
  const lost = new Set([runId])
  // The set grows while it is iterated, which reaches runs at every depth and ends on a cycle.
  for (const id of lost) for (const run of runs.values()) if (run.parentRunId === id) lost.add(run.runId)
  const error = { code: 'LEASE_LOST', message: `lease: expired and taken over, ${got(runId)}` }
  for (const run of runs.values()) {
    if (lost.has(run.runId) && run.status === 'generating') {
      runs.set(run.runId, { ...run, status: 'failed', error, endedAt })
    }
  }
  for (const call of calls.values()) {
    if (lost.has(call.runId) && call.status === 'running') {
      calls.set(call.callId, { ...call, status: 'unknown', result: { content: UNKNOWN_RESULT }, endedAt })
    }
  }
}
