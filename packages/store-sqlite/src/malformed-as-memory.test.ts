import { KernelError, type Store } from '@troupe/kernel'
import { memoryStore } from '@troupe/kernel/memory-store'
import * as fc from 'fast-check'
import { expect, it } from 'vitest'
import { sqliteStore } from './sqlite-store.ts'

const ref = { app: 'app', user: 'anna', threadId: 'a' }
const usage = { inputTokens: 1, outputTokens: 1, reasoningTokens: 1 }
const { signal } = new AbortController()

/** Well-formed arguments of every method; some have several, one for each kind of command. */
const CALLS: readonly (readonly [method: string, args: (token: number) => readonly unknown[]])[] = [
  ['threads.get', () => [ref]],
  ['threads.open', () => [{ ...ref, threadId: 'b' }]],
  [
    'threads.commit',
    (token) => [
      ref,
      {
        set: { a: { b: 1 } },
        removed: ['x'],
        messages: [{ runId: 'r1', message: { id: 'm2', role: 'user', content: 'Hi' } }],
        openCalls: [{ callId: 'c', name: 'n', agentName: 'a' }],
        checkpoint: { format: 1 },
        processed: ['p'],
        journal: { runId: 'r1', entries: ['b', { step: 's' }] },
      },
      token,
    ],
  ],
  ['threads.messages', () => [ref, { after: 0, limit: 10, newestFirst: true }]],
  ['threads.processed', () => [ref, ['p', 'q']]],
  [
    'threads.list',
    () => [
      { app: 'app', user: 'anna' },
      { after: 0, limit: 10 },
    ],
  ],
  ['threads.delete', () => [ref]],
  ['counters.add', () => [ref, [{ name: 'a', by: 1, expiresAt: 100 }]]],
  ['counters.prune', () => [{ before: 100, limit: 10 }]],
  ['facts.add', () => [ref, { text: 'Likes tea.', at: 1, embedding: [1, 0] }]],
  ['facts.list', () => [ref, { after: 0, limit: 10, newestFirst: true }]],
  ['facts.search', () => [ref, { text: 'tea', limit: 10 }]],
  ['facts.near', () => [ref, { embedding: [1, 0], limit: 10 }]],
  ['facts.forget', () => [ref, [1, 2]]],
  ['threads.idle', () => [{ before: 100, limit: 10, after: { ref, updatedAt: 1 } }]],
  ['records.prune', () => [{ before: 100, limit: 10, apps: ['app'] }]],
  command({ type: 'run-start', run: { runId: 'r2', parentRunId: 'r1', agentName: 'a', startedAt: 1 } }),
  command({ type: 'run-text', runId: 'r1', offset: 0, text: 'x' }),
  command({ type: 'run-finish', runId: 'r1', status: 'failed', usage, error: { code: 'X', message: 'm' }, endedAt: 3 }),
  command({
    type: 'tool-call',
    call: {
      callId: 'c2',
      runId: 'r1',
      messageId: 'm',
      name: 'n',
      arguments: '{}',
      status: 'complete',
      result: { celsius: 24 },
      attempts: 2,
      startedAt: 1,
      endedAt: 2,
    },
  }),
  command({
    type: 'usage',
    spanId: 's2',
    runId: 'r1',
    model: 'm',
    usage,
    finishReason: 'stop',
    messageId: 'm',
    requestId: 'u',
  }),
  ['records.runs', () => [ref, { limit: 5 }]],
  ['records.toolCalls', () => [ref, 'r1']],
  ['records.modelCalls', () => [ref, 'r1']],
  ['records.usage', () => [ref]],
  ['records.open', () => [{ before: 100, limit: 10 }]],
  ['runLog.append', () => [ref, 'r1', 1, ['b', 'c'], false]],
  ['runLog.compact', () => [ref, 'r0', [{ seq: 2, event: 'all' }]]],
  ['runLog.prune', () => [{ before: 100, limit: 10, apps: ['app'] }]],
  ['journal.append', (token) => [ref, 'r1', ['b', { step: 's' }], token]],
  ['journal.read', () => [ref]],
  ['journal.lost', () => [{ before: 100, limit: 10 }]],
  ['runLog.follow', () => [ref, 'r1', { after: 0, signal }]],
  [
    'leases.acquire',
    () => [
      { ...ref, threadId: 'c' },
      { runId: 'r5', ttlMs: 10 },
    ],
  ],
  ['leases.renew', (token) => [ref, token, 10]],
  ['leases.release', (token) => [ref, token]],
  ['leases.requestCancel', () => [ref, { mode: 'now', runId: 'r1' }]],
]

function command(command: object): (typeof CALLS)[number] {
  return ['records.apply', () => [ref, [command]]]
}

/** What a caller without types may give. */
const VALUES: readonly unknown[] = [
  ...[undefined, null, true, false, 0, 1, -1, 1.5, 1e300, Number.NaN, Number.POSITIVE_INFINITY, 1n],
  ...['', 'text', 'a\0b', '\ud800', '__proto__', 'x'.repeat(1000), 'x'.repeat(1001), '\0'.repeat(200)],
  ...[[], [7], [null], {}, new Map(), new Set(['p']), new Date(0), () => 1, Symbol('s')],
]

/** The places in arguments where a value can be wrong. Contract: what a store does not walk is one place. */
function placesIn(value: unknown, path: readonly string[] = []): (readonly string[])[] {
  if (typeof value !== 'object' || value === null || value instanceof AbortSignal) return [path]
  if (['result', 'checkpoint'].includes(path.at(-1) ?? '') || 'step' in value) return [path]
  const inside = path.at(-1) === 'message' ? ['id'] : Object.keys(value)
  return [path, ...inside.flatMap((key) => placesIn((value as Record<string, unknown>)[key], [...path, key]))]
}

function replaced(value: unknown, [key, ...rest]: readonly string[], by: unknown): unknown {
  if (key === undefined) return by
  const copy = (Array.isArray(value) ? [...value] : { ...(value as object) }) as Record<string, unknown>
  copy[key] = replaced(copy[key], rest, by)
  return copy
}

/** A store with something of everything in it. */
async function filled(store: Store): Promise<number> {
  await store.threads.open(ref)
  const { token } = await store.leases.acquire(ref, { runId: 'r1', ttlMs: 1000 })
  const message = { id: 'm1', role: 'user', content: 'Hello' } as const
  const journal = { runId: 'r1', entries: ['a'] }
  const messages = [{ runId: 'r1', message }]
  await store.threads.commit(ref, { set: { x: 1 }, messages, processed: ['q'], journal }, token)
  await store.records.apply(ref, [{ type: 'run-start', run: { runId: 'r1', agentName: 'a', startedAt: 1 } }])
  await store.runLog.append(ref, 'r1', 0, ['a'])
  await store.runLog.append(ref, 'r0', 0, ['a', 'b'], true)
  return token
}

/** What a call gives, or the code and the message of its error without the name of the store. */
async function outcomeOf(store: Store, name: string, args: readonly unknown[]): Promise<unknown> {
  const [port = '', method = ''] = name.split('.')
  const ports = store as unknown as Record<string, Record<string, (...args: readonly unknown[]) => unknown>>
  try {
    if (method !== 'follow') return { value: await ports[port]?.[method]?.(...args) }
    const [thread, runId, options] = args
    const finite = typeof options === 'object' && options !== null ? { ...options, live: false } : options
    return { value: await Array.fromAsync(store.runLog.follow(thread as never, runId as never, finite as never)) }
  } catch (error) {
    if (!KernelError.is(error)) throw error
    return { code: error.code, message: error.message.replace(/^\w+: /, '') }
  }
}

/** Everything that a store shows of anna's threads. */
async function contentOf(store: Store): Promise<unknown[]> {
  const content: unknown[] = [await store.threads.list(ref)]
  for (const threadId of ['a', 'b', 'c']) {
    const thread = { ...ref, threadId }
    content.push(await store.threads.messages(thread), await store.threads.processed(thread, ['p', 'q']))
    content.push(await store.records.runs(thread), await store.records.usage(thread))
    content.push(await store.records.toolCalls(thread, 'r1'), await store.records.modelCalls(thread, 'r1'))
    content.push(await outcomeOf(store, 'runLog.follow', [thread, 'r1', { signal }]))
    content.push(await outcomeOf(store, 'runLog.follow', [thread, 'r0', { signal }]), await store.journal.read(thread))
  }
  return content
}

it('takes, refuses and keeps what the memory store does, whatever a caller without types gives', async () => {
  const calls = fc.constantFrom(...CALLS).chain(([method, args]) =>
    fc.record({
      method: fc.constant(method),
      args: fc.constant(args),
      place: fc.constantFrom(...placesIn(args(0)).slice(1)),
      value: fc.constantFrom(...VALUES),
    }),
  )
  await fc.assert(
    fc.asyncProperty(fc.array(calls, { minLength: 1, maxLength: 4 }), async (all) => {
      const clock = { now: () => 10, after: () => () => undefined }
      await using sqlite = sqliteStore({ path: ':memory:', clock })
      const seen: unknown[] = []
      for (const store of [memoryStore({ clock }), sqlite]) {
        const token = await filled(store)
        const outcomes: unknown[] = []
        for (const { method, args, place, value } of all) {
          outcomes.push(await outcomeOf(store, method, replaced(args(token), place, value) as readonly unknown[]))
        }
        seen.push({ outcomes, content: await contentOf(store) })
      }
      expect(seen[1]).toEqual(seen[0])
    }),
    { numRuns: 400 },
  )
  // It opens 400 files.
}, 60_000)
