import { type Agent, say } from '@troupe/kernel'
import type { RunHost } from '@troupe/kernel/run'
import { describe, expect, test } from 'vitest'
import { messageLifecycle } from './message-lifecycle.ts'
import { ANN, agentOf, calm, recordsHarness } from './persistence.fixture.ts'

/** Speaks, waits, and speaks again. */
function halting(rest: string): { readonly agent: Agent; go(): void } {
  const { promise, resolve } = Promise.withResolvers<void>()
  const agent = agentOf(async function* (_, ctx) {
    yield* say(ctx, 'half')
    await promise
    yield* say(ctx, rest)
  })
  return { agent, go: resolve }
}

const attempt = (number: number): RunHost => ({
  open: async () => ({ attempt: number, close: async () => undefined }),
})

describe('two attempts to carry out the same run', () => {
  test('in two processes: what the first writes once the second has begun is refused, and its receivers get an end', async () => {
    const { store, clock, run, messages, done } = await recordsHarness()
    const other = messageLifecycle({ store, clock })
    const [stale, next] = [halting('stale'), halting('whole')]
    const first = run(stale.agent, { runId: 'R' }, attempt(1)).then(({ text }) => text)
    await calm()
    await messages.flush()
    const second = run(next.agent, { runId: 'R', callbacks: [other] }, attempt(2)).then(({ text }) => text)
    await calm()
    await other.flush()
    stale.go()
    expect(await first).toBe('stale')
    await messages.flush()
    expect(await store.records.runs(ANN)).toMatchObject([{ runId: 'R', status: 'generating', text: 'half' }])
    expect(done.map(([, error]) => error?.code)).toEqual(['RECORD_REFUSED'])
    next.go()
    expect(await second).toBe('whole')
    await other.flush()
    expect(await store.records.runs(ANN)).toMatchObject([{ runId: 'R', status: 'complete', text: 'whole' }])
  })

  test('in one process: each end is that of its own attempt', async () => {
    const { store, run, messages } = await recordsHarness()
    const { token } = await store.leases.acquire(ANN, { runId: 'R', ttlMs: 1_000 })
    await store.threads.commit(ANN, { journal: { runId: 'R', entries: [] } }, token)
    const [stale, next] = [halting('stale'), halting('whole')]
    const first = run(stale.agent, { runId: 'R' }, attempt(1)).then(({ text }) => text)
    await calm()
    const second = run(next.agent, { runId: 'R' }, attempt(2)).then(({ text }) => text)
    await calm()
    stale.go()
    expect(await first).toBe('stale')
    await messages.flush()
    expect(await store.records.runs(ANN)).toMatchObject([{ status: 'generating', text: 'half' }])
    next.go()
    expect(await second).toBe('whole')
    await messages.flush()
    expect(await store.records.runs(ANN)).toMatchObject([{ status: 'complete', text: 'whole' }])
  })
})
