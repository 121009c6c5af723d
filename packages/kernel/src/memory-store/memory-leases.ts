import { checkCancel, checkHolder, checkTtl } from '../store/check-lease.ts'
import { checkRef } from '../store/check-ref.ts'
import { harderCancel, holdsLease, lostCall, lostRun } from '../store/lease.ts'
import { leaseLost, runIdTaken, threadBusy } from '../store/refusals.ts'
import { runIdsAbove } from '../store/run-ids-above.ts'
import type { LeaseStore } from '../store/store.ts'
import { findThread, type Lease, type MemoryData, type OwnerData, type ThreadData, WHO } from './memory-data.ts'

/** Leases in memory. */
export function memoryLeases(data: MemoryData): LeaseStore {
  return {
    async acquire(ref, holder) {
      checkRef(WHO, ref)
      checkHolder(WHO, holder)
      const { owner, row, lease, live } = findThread(data, ref)
      const { runId, begins, again } = holder
      const own = again && lease?.runId === runId ? lease : undefined
      if (live && !own) throw threadBusy(WHO, live)
      const fresh = begins && claimId(owner, runId, ref.threadId)
      const now = data.now()
      if (lease && row && lease.runId !== holder.runId && !hasEnded(row, lease)) failRuns(row, lease, now)
      const token = ++data.token
      data.owners.set(owner.key, owner)
      const kept = own?.cancel ?? (row?.journal?.runId === runId ? row.journal.cancel : undefined)
      const cancel = kept && { cancel: kept }
      owner.leases.set(ref.threadId, { token, runId, expiresAt: now + holder.ttlMs, ...cancel })
      return { token, ...cancel, ...(fresh && { fresh }) }
    },

    async renew(ref, token, ttlMs) {
      checkRef(WHO, ref)
      checkTtl(WHO, ttlMs)
      const { lease } = findThread(data, ref)
      if (!holdsLease(lease, token)) throw leaseLost(WHO, token)
      lease.expiresAt = data.now() + ttlMs
      return lease.cancel ? { cancel: lease.cancel } : {}
    },

    async release(ref, token) {
      checkRef(WHO, ref)
      const { owner, lease } = findThread(data, ref)
      if (holdsLease(lease, token)) owner.leases.delete(ref.threadId)
    },

    async requestCancel(ref, request) {
      checkRef(WHO, ref)
      const mode = checkCancel(WHO, request)
      const { live, row } = findThread(data, ref)
      if (!live || (request.runId !== undefined && request.runId !== live.runId)) return false
      live.cancel = harderCancel(live.cancel, mode)
      if (row?.journal?.runId === live.runId) row.journal.cancel = live.cancel
      return true
    },
  }
}

/** Whether the end of a run is in its thread: it has the last message, and its journal is gone. */
function hasEnded({ messages, journal }: ThreadData, { runId }: Lease): boolean {
  return messages.at(-1)?.runId === runId && journal?.runId !== runId
}

/** Finishes the run that the former holder left open, the runs nested in it, and their calls. */
function failRuns({ runs, calls }: ThreadData, { runId, cancel }: Lease, endedAt: number): void {
  const lost = new Set([runId])
  // The set grows while it is iterated, which reaches runs at every depth and ends on a cycle.
  for (const id of lost) for (const run of runs.values()) if (run.parentRunId === id) lost.add(run.runId)
  for (const run of runs.values()) {
    if (lost.has(run.runId) && run.status === 'generating') {
      runs.set(run.runId, { ...run, ...lostRun(runId, endedAt, cancel) })
    }
  }
  for (const call of calls.values()) {
    if (lost.has(call.runId) && call.status === 'running') calls.set(call.callId, { ...call, ...lostCall(endedAt) })
  }
}

/** Says whether no run has begun with this id. Contract: throws `RUN_ID_TAKEN` if a run of another thread has the id, or any run one above or below it. */
function claimId({ begun, begunBelow }: OwnerData, runId: string, threadId: string): boolean {
  const above = runIdsAbove(runId)
  const isTaken =
    (begun.get(runId) ?? threadId) !== threadId ||
    above.some((id) => begun.has(id)) ||
    [...begunBelow].some((id) => id.startsWith(`${runId}/`))
  if (isTaken) throw runIdTaken(WHO, runId)
  if (begun.has(runId)) return false
  begun.set(runId, threadId)
  if (above.length > 0) begunBelow.add(runId)
  return true
}
