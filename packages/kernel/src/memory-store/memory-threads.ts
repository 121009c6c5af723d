import type { ThreadRef } from '../data/thread-ref.ts'
import { checkCommit } from '../store/check-commit.ts'
import { checkFork } from '../store/check-fork.ts'
import { checkLabel, checkRecent } from '../store/check-label.ts'
import { checkIdle, checkKnown, checkPage, checkProcessed } from '../store/check-page.ts'
import { checkOwner, checkRef } from '../store/check-ref.ts'
import { type CommitEffect, commitEffect, type StateChange, stateAfter } from '../store/commit-effect.ts'
import { isWaiting } from '../store/is-waiting.ts'
import { holdsLease } from '../store/lease.ts'
import { leaseLost, messageNotFound, threadIdTaken, threadNotFound } from '../store/refusals.ts'
import type { ForkPoint, Thread, ThreadCommit, ThreadLabel, ThreadStore, ThreadSummary } from '../store/store.ts'
import {
  addThread,
  allThreads,
  endLogs,
  findOwner,
  findThread,
  type Lease,
  type MemoryData,
  type OwnerData,
  pageOf,
  refuseClosed,
  type ThreadData,
  WHO,
} from './memory-data.ts'

/** Conversations in memory. */
export function memoryThreads(data: MemoryData): Required<ThreadStore> {
  const found = (thread: Thread) => summary(thread, findThread(data, thread.ref).live)
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
      return view(addThread(data, owner, ref).thread, live)
    },

    async commit(ref, commit, token) {
      checkRef(WHO, ref)
      checkCommit(WHO, commit)
      const { owner, row, lease, live } = findThread(data, ref)
      if (!holdsLease(lease, token)) {
        if (row?.released === token && commit.release) return view(row.thread, live)
        throw leaseLost(WHO, token)
      }
      if (!row) throw threadNotFound(WHO, ref.threadId)
      const now = data.now()
      const { messages } = row
      const effect = commitEffect(commit, messages.length, (id) => row.messageIds.has(id))
      row.thread = committed(row.thread, commit, effect, now)
      addMessages(row, effect)
      replaceJournal(row, commit, now, lease)
      if (commit.release) release(owner, row, token)
      return view(row.thread, commit.release ? undefined : live)
    },

    async messages(ref, page) {
      checkRef(WHO, ref)
      const wanted = checkPage(WHO, page)
      return pageOf(findThread(data, ref).row?.messages ?? [], wanted)
    },

    async known(ref, ids) {
      checkRef(WHO, ref)
      checkKnown(WHO, ids)
      const { row } = findThread(data, ref)
      return [...new Set(ids)].filter((id) => row?.messageIds.has(id))
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

    async recent(owner, page) {
      checkOwner(WHO, owner)
      const { limit, after } = checkRecent(WHO, page)
      return [...findOwner(data, owner).threads.values()]
        .map(({ thread }) => thread)
        .filter((thread) => !after || later(after, thread) < 0)
        .sort(later)
        .slice(0, limit)
        .map(found)
    },

    async label(ref, label) {
      checkRef(WHO, ref)
      checkLabel(WHO, label)
      const { row, live } = findThread(data, ref)
      if (!row) throw threadNotFound(WHO, ref.threadId)
      row.thread = labelled(row.thread, label)
      return summary(row.thread, live)
    },

    async fork(ref, request) {
      checkRef(WHO, ref)
      checkFork(WHO, request)
      const { owner, row } = findThread(data, ref)
      if (!row) throw threadNotFound(WHO, ref.threadId)
      const to = { ...ref, threadId: request.to }
      const cut = cutOf(row, request)
      free(data, owner, to)
      const branch = addThread(data, owner, to)
      share(row, branch, cut)
      return view(branch.thread, undefined)
    },

    async cut(ref, request, token) {
      checkRef(WHO, ref)
      checkFork(WHO, request)
      const { owner, row, lease, live } = findThread(data, ref)
      if (!holdsLease(lease, token)) throw leaseLost(WHO, token)
      if (!row) throw threadNotFound(WHO, ref.threadId)
      const cut = cutOf(row, request)
      free(data, owner, { ...ref, threadId: request.to })
      rename(owner, row, request.to, lease.runId)
      const branch = addThread(data, owner, ref)
      share(row, branch, cut)
      return view(branch.thread, live)
    },

    async delete(ref) {
      checkRef(WHO, ref)
      const { owner, row } = findThread(data, ref)
      if (!row) return false
      owner.threads.delete(ref.threadId)
      owner.leases.delete(ref.threadId)
      for (const runId of row.runs.keys()) owner.runIds.delete(runId)
      freeRunIds(owner, ref.threadId)
      owner.grants.splice(0, owner.grants.length, ...owner.grants.filter(({ thread }) => thread !== row))
      endLogs(row)
      return true
    },

    async idle(query) {
      checkIdle(WHO, query)
      refuseClosed(data)
      const { before, limit, after } = query
      return allThreads(data)
        .map(({ thread }) => thread)
        .filter((thread) => thread.updatedAt < before && !findThread(data, thread.ref).live)
        .filter((thread) => !after || byAge(thread, after) > 0)
        .sort(byAge)
        .slice(0, limit)
        .map(found)
    },
  }
}

/** Oldest first; threads of one moment in the order of their names. */
function byAge(a: Pick<Thread, 'ref' | 'updatedAt'>, b: Pick<Thread, 'ref' | 'updatedAt'>): number {
  if (a.updatedAt !== b.updatedAt) return a.updatedAt - b.updatedAt
  const differs = (['app', 'user', 'threadId'] as const).find((name) => a.ref[name] !== b.ref[name])
  return differs === undefined ? 0 : a.ref[differs] < b.ref[differs] ? -1 : 1
}

/** The latest first. */
function later(a: Pick<Thread, 'seq' | 'updatedAt'>, b: Pick<Thread, 'seq' | 'updatedAt'>): number {
  return b.updatedAt - a.updatedAt || b.seq - a.seq
}

/** A thread with another title or other metadata. */
function labelled({ title: named, metadata: noted, ...thread }: Thread, label: ThreadLabel): Thread {
  const { title = named ?? null, metadata = noted ?? null } = label
  return {
    ...thread,
    ...(title !== null && { title }),
    ...(metadata !== null && { metadata: structuredClone(metadata) }),
  }
}

/** A thread as callers see it; its state is a copy, so that a caller cannot change the store's own. */
function view(thread: Thread, live: Lease | undefined): Thread {
  return { ...thread, state: { ...thread.state }, ...(live && { runId: live.runId }) }
}

/** A thread as lists show it. */
function summary(
  { state: _1, openCalls: _2, checkpoint: _3, ...thread }: Thread,
  live: Lease | undefined,
): ThreadSummary {
  return { ...thread, ...(live && { runId: live.runId }) }
}

/** Releases the lease of a thread with a commit. */
function release(owner: OwnerData, row: ThreadData, token: number): void {
  owner.leases.delete(row.thread.ref.threadId)
  row.released = token
}

/** A thread after a commit. */
function committed(thread: Thread, commit: ThreadCommit, { changes }: CommitEffect, updatedAt: number): Thread {
  const { checkpoint: kept = null, unfinished: running, ...rest } = thread
  const { openCalls = rest.openCalls, checkpoint = kept, journal } = commit
  const unfinished = journal === undefined ? running : journal?.runId
  const open = { openCalls: [...openCalls], ...(checkpoint !== null && { checkpoint }) }
  return {
    ...rest,
    version: rest.version + 1,
    state: stateAfter(rest.state, changes),
    waiting: isWaiting(open),
    ...open,
    ...(unfinished !== undefined && { unfinished }),
    updatedAt,
  }
}

/** Adds what a commit adds to a thread. */
function addMessages(row: ThreadData, { messages, changes, processed }: CommitEffect): void {
  for (const message of messages) {
    row.messageIds.add(message.message.id)
    row.messages.push(message)
  }
  for (const change of changes) addChange(row.changes, change)
  for (const { id, seq } of processed) if (!row.processed.has(id)) row.processed.set(id, seq)
}

/** Contract: a key has one change for each message, so that commits without messages do not pile up; a value is copied, so that the past stays as it was. */
function addChange(changes: StateChange[], given: StateChange): void {
  const change = copyOf(given)
  for (let i = changes.length - 1; changes[i]?.seq === change.seq; i--) {
    if (changes[i]?.key !== change.key) continue
    changes[i] = change
    return
  }
  changes.push(change)
}

/** The sequence of the last message that a branch has; 0 if it has none. */
function cutOf({ messages, messageIds }: ThreadData, { at, before }: ForkPoint): number {
  const id = at ?? before ?? ''
  if (!messageIds.has(id)) throw messageNotFound(WHO, id)
  const index = messages.findIndex(({ message }) => message.id === id)
  return at === undefined ? index : index + 1
}

/** Makes sure that an id is free. Contract: drops a lease that has expired, because its token would still be good for a commit. */
function free(data: MemoryData, owner: OwnerData, to: ThreadRef): void {
  const taken = findThread(data, to)
  if (taken.row || taken.live) throw threadIdTaken(WHO, to.threadId)
  owner.leases.delete(to.threadId)
}

/** Gives a thread another name. Contract: the runs that have begun in it go along, except the one that holds the lease of the name. */
function rename(owner: OwnerData, row: ThreadData, to: string, holder: string): void {
  const { ref } = row.thread
  for (const [runId, threadId] of owner.begun) {
    if (threadId === ref.threadId && runId !== holder) owner.begun.set(runId, to)
  }
  row.thread = { ...row.thread, ref: { ...ref, threadId: to } }
  const threads = [...owner.threads.values()]
  owner.threads.clear()
  // In the order of the list.
  for (const one of threads) owner.threads.set(one.thread.ref.threadId, one)
}

/** Frees the ids of the runs that have begun in a thread that is gone. Contract: a run with messages in a branch begins in that from now on. */
function freeRunIds(owner: OwnerData, gone: string): void {
  const kept = new Map<string, string>()
  for (const [threadId, { thread, messages }] of owner.threads) {
    if (thread.forkedFrom) for (const { runId } of messages) kept.set(runId, threadId)
  }
  for (const [runId, threadId] of owner.begun) {
    if (threadId !== gone) continue
    const heir = kept.get(runId)
    if (heir !== undefined) owner.begun.set(runId, heir)
    else {
      owner.begun.delete(runId)
      owner.begunBelow.delete(runId)
    }
  }
}

/** Gives a branch what it has of its source. */
function share(source: ThreadData, branch: ThreadData, cut: number): void {
  const upToCut = ({ seq }: { readonly seq: number }) => seq <= cut
  const messages = source.messages.slice(0, cut)
  const changes = source.changes.filter(upToCut)
  const processed = [...source.processed].map(([id, seq]) => ({ id, seq })).filter(upToCut)
  addMessages(branch, { messages, last: cut, changes, processed })
  for (const [id, texts] of source.blobs) {
    const shared = texts.filter(({ seq }) => seq < cut)
    if (shared.length > 0) branch.blobs.set(id, shared)
  }
  const messageId = messages.at(-1)?.message.id
  const forkedFrom = { threadId: source.thread.ref.threadId, ...(messageId !== undefined && { messageId }) }
  const { title, metadata } = source.thread
  const label = { ...(title !== undefined && { title }), ...(metadata && { metadata }) }
  branch.thread = { ...labelled(branch.thread, label), state: stateAfter({}, changes.map(copyOf)), forkedFrom }
}

function copyOf(change: StateChange): StateChange {
  const { value } = change
  return typeof value === 'object' ? { ...change, value: structuredClone(value) } : change
}

/** Begins or removes the journal of a thread, if a commit does. */
function replaceJournal(row: ThreadData, { journal }: ThreadCommit, at: number, lease: Lease): void {
  if (journal === undefined) return
  row.journal = journal === null ? undefined : { runId: journal.runId, entries: [...journal.entries], at }
  // The cancel may have come before the journal.
  if (row.journal?.runId === lease.runId && lease.cancel) row.journal.cancel = lease.cancel
}
