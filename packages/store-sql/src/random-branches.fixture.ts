import { KernelError, type Store, type ThreadCommit, type ThreadRef } from '@troupe/kernel'
import { memoryStore } from '@troupe/kernel/memory-store'
import * as fc from 'fast-check'
import { expect } from 'vitest'

const clock = { now: () => 1 }
const refOf = (threadId: string): ThreadRef => ({ app: 'app', user: 'anna', threadId })
const THREADS = ['a', 'b', 'c', 'd', 'e', 'f']
const threadId = fc.constantFrom(...THREADS)
/** Few ids, so that threads of different branches have messages of the same name. */
const messageId = fc.integer({ min: 1, max: 14 }).map((n) => `m${n}`)
const changes = fc.record(
  {
    set: fc.dictionary(fc.constantFrom('x', 'y', 'z'), fc.nat({ max: 9 }), { maxKeys: 2 }),
    removed: fc.uniqueArray(fc.constantFrom('x', 'y', 'z'), { maxLength: 1 }),
  },
  { requiredKeys: [] },
)
const foreignId = fc.constantFrom('p1', 'p2', 'p3', 'p4', 'm1', 'm5', 'm9')
const BLOBS = ['b1', 'b2', 'b3']
const message = fc
  .record({ id: messageId, changes: fc.option(changes, { nil: undefined }) })
  .map(({ id, changes }) => ({
    runId: 'r',
    message: { id, role: 'user' as const, content: id },
    ...(changes && { changes }),
  }))
const commit: fc.Arbitrary<ThreadCommit> = fc
  .tuple(
    changes,
    fc.record({
      messages: fc.array(message, { maxLength: 4 }),
      processed: fc.array(foreignId, { maxLength: 2 }),
    }),
  )
  .map(([changes, rest]) => ({ ...changes, ...rest }))
const step = fc.oneof(
  { weight: 5, arbitrary: fc.record({ call: fc.constant('commit' as const), threadId, commit }) },
  {
    weight: 5,
    arbitrary: fc.record({
      call: fc.constantFrom('fork' as const, 'cut' as const),
      threadId,
      at: fc.boolean(),
      // Mostly a message that the thread has.
      place: fc.nat({ max: 20 }),
      to: threadId,
    }),
  },
  { weight: 2, arbitrary: fc.record({ call: fc.constant('put' as const), threadId, blob: fc.constantFrom(...BLOBS) }) },
  { weight: 2, arbitrary: fc.record({ call: fc.constant('delete' as const), threadId }) },
)
type Step = typeof step extends fc.Arbitrary<infer Value> ? Value : never

async function perform({ threads, leases, blobs }: Store, step: Step, at: number): Promise<unknown> {
  const ref = refOf(step.threadId)
  if (step.call === 'delete') return threads.delete(ref)
  if (step.call === 'put') return blobs?.put(ref, step.blob, `${at}`)
  if (step.call !== 'commit') {
    const messages = await threads.messages(ref)
    const id = messages[step.place % (messages.length + 1)]?.message.id ?? 'm1'
    const request = { ...(step.at ? { at: id } : { before: id }), to: step.to }
    if (step.call === 'fork') return threads.fork(ref, request)
    const { token } = await leases.acquire(ref, { runId: 'r', ttlMs: 1 })
    try {
      return await threads.cut(ref, request, token)
    } finally {
      await leases.release(ref, token)
    }
  }
  await threads.open(ref)
  const { token } = await leases.acquire(ref, { runId: 'r', ttlMs: 1 })
  const thread = await threads.commit(ref, step.commit, token)
  await leases.release(ref, token)
  return thread
}

/** Everything that the threads of a store have, the state after each message too. */
async function contentOf({ threads, blobs }: Store): Promise<unknown> {
  const all = []
  for (const { ref, ...thread } of await threads.list(refOf('a'))) {
    const messages = await threads.messages(ref)
    const states = []
    const texts = []
    for (const { message } of messages) {
      const { ref: probe, state } = await threads.fork(ref, { at: message.id, to: 'probe' })
      states.push(state)
      texts.push(await textsOf(blobs, probe))
      await threads.delete(probe)
    }
    const { seq, ...rest } = thread
    all.push({
      ...rest,
      id: ref.threadId,
      messages,
      states,
      texts: [...texts, await textsOf(blobs, ref)],
      newest: await threads.messages(ref, { newestFirst: true, limit: 3 }),
      middle: await threads.messages(ref, { after: 2, limit: 4 }),
      before: await threads.messages(ref, { after: 5, limit: 3, newestFirst: true }),
      processed: await threads.processed(ref, ['p1', 'p2', 'p3', 'p4', 'm1', 'm5', 'm9']),
    })
  }
  return all
}

/** What a thread reads of the large texts. */
function textsOf(blobs: Store['blobs'], ref: ThreadRef): Promise<unknown> {
  return Promise.all(BLOBS.map((id) => blobs?.get(ref, id)))
}

/**
 * Makes random commits, branches and deletes in a store and in one in memory, and compares everything that they have.
 * Contract: `use` gives an empty store to its callback, and `rowsOf` counts what is left of threads when all are deleted.
 */
export async function sameBranches(
  use: (clock: { now(): number }, work: (store: Store) => Promise<void>) => Promise<void>,
  rowsOf: (store: Store) => Promise<number>,
  numRuns: number,
): Promise<void> {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 15, maxLength: 40 }), (steps) =>
      use(clock, async (store) => {
        const memory = memoryStore({ clock })
        for (const [at, step] of steps.entries()) {
          const outcomes = [memory, store].map((one) =>
            perform(one, step, at).catch((error: unknown) => KernelError.from(error).code),
          )
          const [expected, found] = await Promise.all(outcomes)
          expect(found).toEqual(expected)
        }
        expect(await contentOf(store)).toEqual(await contentOf(memory))
        for (const { ref } of await store.threads.list(refOf('a'))) await store.threads.delete(ref)
        expect(await rowsOf(store)).toBe(0)
      }),
    ),
    { numRuns },
  )
}
