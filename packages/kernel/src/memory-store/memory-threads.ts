import { checkCommit } from '../store/check-commit.ts'
import { checkMaintenance, checkPage, checkProcessed } from '../store/check-page.ts'
import { checkOwner, checkRef } from '../store/check-ref.ts'
import { holdsLease } from '../store/lease.ts'
import { leaseLost, threadNotFound } from '../store/refusals.ts'
import type { Thread, ThreadCommit, ThreadStore } from '../store/store.ts'
import {
  allThreads,
  endLogs,
  findOwner,
  findThread,
  type Lease,
  type MemoryData,
  olderThan,
  pageOf,
  refuseClosed,
  type ThreadData,
  WHO,
} from './memory-data.ts'

/** Conversations in memory. */
export function memoryThreads(data: MemoryData): ThreadStore {
  const found = (thread: Thread) => view(thread, findThread(data, thread.ref).live)
  return {
    async get(ref) {
      checkRef(WHO, ref)
      const { row, live } = findThread(data, ref)
      return row && view(row.thread, live)
    },

    async open(ref) {
      checkRef(WHO, ref)
      const { owner, row, live } = findThread(data, ref)
      if (row) return view(row.thread, live)
      const thread = newThread(ref, ++owner.seq, data.now())
      data.owners.set(owner.key, owner)
      owner.threads.set(ref.threadId, {
        thread,
        messages: [],
        messageIds: new Set(),
        processed: new Set(),
        runs: new Map(),
        attempts: new Map(),
        calls: new Map(),
        modelCalls: new Map(),
        logs: new Map(),
      })
      return view(thread, live)
    },

    async commit(ref, commit, token) {
      checkRef(WHO, ref)
      checkCommit(WHO, commit)
      const { row, lease, live } = findThread(data, ref)
      if (!holdsLease(lease, token)) throw leaseLost(WHO, token)
      if (!row) throw threadNotFound(WHO, ref.threadId)
      const now = data.now()
      row.thread = committed(row.thread, commit, now)
      addMessages(row, commit)
      replaceJournal(row, commit, now, lease)
      return view(row.thread, live)
    },

    async messages(ref, page) {
      checkRef(WHO, ref)
      const wanted = checkPage(WHO, page)
      return pageOf(findThread(data, ref).row?.messages ?? [], wanted)
    },

    async processed(ref, ids) {
      checkRef(WHO, ref)
      checkProcessed(WHO, ids)
      const { row } = findThread(data, ref)
      return [...new Set(ids)].filter((id) => row?.processed.has(id))
    },

    async list(owner, page) {
      checkOwner(WHO, owner)
      const wanted = checkPage(WHO, page)
      const threads = [...findOwner(data, owner).threads.values()].map(({ thread }) => thread)
      return pageOf(threads, wanted).map(found)
    },

    async delete(ref) {
      checkRef(WHO, ref)
      const { owner, row } = findThread(data, ref)
      if (!row) return false
      owner.threads.delete(ref.threadId)
      owner.leases.delete(ref.threadId)
      for (const runId of row.runs.keys()) owner.runIds.delete(runId)
      endLogs(row)
      return true
    },

    async idle(query) {
      checkMaintenance(WHO, query)
      refuseClosed(data)
      const threads = allThreads(data).map(({ thread }) => thread)
      const free = threads.filter(({ ref }) => !findThread(data, ref).live)
      return olderThan(query, 'updatedAt', free).map(found)
    },
  }
}

/** A thread as callers see it; its state is a copy, so that a caller cannot change the store's own. */
function view(thread: Thread, live: Lease | undefined): Thread {
  return { ...thread, state: { ...thread.state }, ...(live && { runId: live.runId }) }
}

function newThread({ app, user, threadId }: Thread['ref'], seq: number, updatedAt: number): Thread {
  return { ref: { app, user, threadId }, seq, version: 0, state: {}, openCalls: [], updatedAt }
}

/** A thread after a commit. */
function committed(thread: Thread, commit: ThreadCommit, updatedAt: number): Thread {
  const { checkpoint: kept = null, unfinished: running, ...rest } = thread
  const { set, removed = [], openCalls = rest.openCalls, checkpoint = kept, journal } = commit
  const unfinished = journal === undefined ? running : journal?.runId
  const state = { ...rest.state, ...set }
  for (const key of removed) delete state[key]
  return {
    ...rest,
    version: rest.version + 1,
    state,
    openCalls: [...openCalls],
    ...(checkpoint !== null && { checkpoint }),
    ...(unfinished !== undefined && { unfinished }),
    updatedAt,
  }
}

/** Adds the messages and processed ids of a commit that a thread does not have yet. */
function addMessages(row: ThreadData, { messages = [], processed = [] }: ThreadCommit): void {
  for (const { runId, message } of messages) {
    if (row.messageIds.has(message.id)) continue
    row.messageIds.add(message.id)
    row.messages.push({ seq: row.messages.length + 1, runId, message })
  }
  for (const id of processed) row.processed.add(id)
}

/** Begins or removes the journal of a thread, if a commit does. */
function replaceJournal(row: ThreadData, { journal }: ThreadCommit, at: number, lease: Lease): void {
  if (journal === undefined) return
  row.journal = journal === null ? undefined : { runId: journal.runId, entries: [...journal.entries], at }
  // The cancel may have come before the journal.
  if (row.journal?.runId === lease.runId && lease.cancel) row.journal.cancel = lease.cancel
}
