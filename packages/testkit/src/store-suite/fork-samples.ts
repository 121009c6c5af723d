import type { JsonObject, Page, Store, ThreadCommit, ThreadRef } from '@troupe/kernel'
import { anna, hold, said } from './store-samples.ts'

/** Commits to a thread under a lease of its own, which is released. */
export async function commitTo(store: Store, ref: ThreadRef, commit: ThreadCommit, runId = 'run-1'): Promise<void> {
  const token = await hold(store, ref, runId)
  await store.threads.commit(ref, commit, token)
  await store.leases.release(ref, token)
}

/** Adds messages to a thread, one commit for all. */
export function say(store: Store, ref: ThreadRef, ...ids: readonly string[]): Promise<void> {
  return commitTo(store, ref, { messages: ids.map((id) => said(id)) })
}

/** Makes a branch at a message, and returns its ref. */
export async function forkAt(store: Store, ref: ThreadRef, at: string, to = 'branch'): Promise<ThreadRef> {
  return (await store.threads.fork(ref, { at, to })).ref
}

/** The ids of the messages of a thread. */
export async function idsOf(store: Store, ref: ThreadRef, page?: Page): Promise<readonly string[]> {
  return (await store.threads.messages(ref, page)).map(({ message }) => message.id)
}

/** The state of a thread. */
export async function stateOf(store: Store, ref: ThreadRef): Promise<JsonObject | undefined> {
  return (await store.threads.get(ref))?.state
}

/** The state after a message, which a branch of its own shows. */
export async function stateAt(store: Store, ref: ThreadRef, at: string): Promise<JsonObject> {
  const to = `state of ${ref.threadId} at ${at}`
  const { state } = await store.threads.fork(ref, { at, to })
  await store.threads.delete(anna(to))
  return state
}
