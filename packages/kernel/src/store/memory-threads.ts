import { notJson } from '../data/json.ts'
import {
  allThreads,
  check,
  checkId,
  endLogs,
  failure,
  held,
  locate,
  type MemoryData,
  olderThan,
  ownerOf,
  pageOf,
} from './memory-data.ts'
import type { Thread, ThreadCommit, ThreadStore } from './store.ts'

/** Conversations in memory. */
export function memoryThreads(data: MemoryData): ThreadStore {
  return {
    async get(ref) {
      const { row } = locate(data, ref)
      return row && view(data, row.thread)
    },

    async open(ref) {
      const { owner, row } = locate(data, ref)
      if (row) return view(data, row.thread)
      const { app, user, threadId } = ref
      const thread: Thread = {
        ref: { app, user, threadId },
        seq: ++owner.seq,
        version: 0,
        state: {},
        openCalls: [],
        updatedAt: data.now(),
      }
      data.owners.set(owner.key, owner)
      owner.threads.set(threadId, {
        thread,
        messages: [],
        messageIds: new Set(),
        processed: new Set(),
        runs: new Map(),
        calls: new Map(),
        modelCalls: new Map(),
        logs: new Map(),
      })
      return view(data, thread)
    },

    async commit(ref, commit, token) {
      const place = locate(data, ref)
      const { row } = place
      checkCommit(commit)
      held(place, token)
      if (!row) throw failure('NOT_FOUND', 'unknown thread', ref.threadId)
      const { checkpoint: kept, ...rest } = row.thread
      const { set, removed = [], messages = [], openCalls = rest.openCalls, checkpoint = kept, processed = [] } = commit
      const state = { ...rest.state, ...set }
      for (const key of removed) delete state[key]
      row.thread = {
        ...rest,
        version: rest.version + 1,
        state,
        openCalls: [...openCalls],
        ...(checkpoint && { checkpoint }),
        updatedAt: data.now(),
      }
      for (const { runId, message } of messages) {
        if (row.messageIds.has(message.id)) continue
        row.messageIds.add(message.id)
        row.messages.push({ seq: row.messages.length + 1, runId, message })
      }
      for (const id of processed) row.processed.add(id)
      return view(data, row.thread)
    },

    async messages(ref, page) {
      return pageOf(locate(data, ref).row?.messages ?? [], page)
    },

    async processed(ref, ids) {
      const { row } = locate(data, ref)
      return [...new Set(ids)].filter((id) => row?.processed.has(id))
    },

    async list(owner, page) {
      const threads = [...ownerOf(data, owner).threads.values()].map(({ thread }) => thread)
      return pageOf(threads, page).map((thread) => view(data, thread))
    },

    async delete(ref) {
      const { owner, row } = locate(data, ref)
      if (!row) return false
      owner.threads.delete(ref.threadId)
      owner.leases.delete(ref.threadId)
      for (const runId of row.runs.keys()) owner.runIds.delete(runId)
      endLogs(row)
      return true
    },

    async idle(query) {
      const threads = allThreads(data).map(({ thread }) => thread)
      const free = threads.filter(({ ref }) => !locate(data, ref).live)
      return olderThan(query, 'updatedAt', free).map((thread) => view(data, thread))
    },
  }
}

/** A thread as callers see it; its state is a copy, so that a caller cannot change the store's own. */
function view(data: MemoryData, thread: Thread): Thread {
  const { live } = locate(data, thread.ref)
  return { ...thread, state: { ...thread.state }, ...(live && { runId: live.runId }) }
}

function checkCommit({ set = {}, removed = [], messages = [], processed = [] }: ThreadCommit): void {
  for (const key of [...Object.keys(set), ...removed]) {
    check(!['__proto__', 'constructor', 'prototype'].includes(key), 'a state key other than an object internal', key)
  }
  const path = notJson(set)
  check(path === undefined, `a state of plain JSON, not so at ${path}`, set)
  for (const { runId, message } of messages) {
    checkId('runId', runId)
    checkId('message id', message.id)
  }
  for (const id of processed) checkId('processed id', id)
}
