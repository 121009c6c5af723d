import type { Message, RecordCommand, Store, ThreadCommit, ToolCallRecord } from '@troupe/kernel'
import { describe, expect, it } from 'vitest'
import { ANN, recordsHarness } from './persistence.fixture.ts'
import { reconcile } from './reconcile.ts'

const start = (runId: string, parentRunId?: string): RecordCommand => ({
  type: 'run-start',
  run: { runId, agentName: 'agent', startedAt: 1, ...(parentRunId !== undefined && { parentRunId }) },
})
const call = (callId: string, runId: string, status: ToolCallRecord['status']): RecordCommand => ({
  type: 'tool-call',
  call: { callId, runId, messageId: 'm', name: 'look', arguments: '{}', status, startedAt: 1 },
})
const text = (runId: string): RecordCommand => ({ type: 'run-text', runId, offset: 0, text: 'half' })

async function crashed() {
  const harness = await recordsHarness()
  const { store, clock } = harness
  clock.advance(100_000)
  await store.records.apply(ANN, [
    start('lost'),
    start('lost/tool:0:0', 'lost'),
    text('lost'),
    call('c1', 'lost', 'running'),
    call('c2', 'lost', 'awaiting'),
    call('c3', 'lost', 'complete'),
    call('c1/c1', 'lost/tool:0:0', 'running'),
  ])
  return harness
}

/** Stores the end of the run in its thread. */
async function ended(store: Store, messages: readonly Message[], more: ThreadCommit = {}): Promise<void> {
  const { token } = await store.leases.acquire(ANN, { runId: 'lost', ttlMs: 1 })
  const rows = messages.map((message) => ({ runId: 'lost', message }))
  await store.threads.commit(ANN, { messages: rows, ...more }, token)
  await store.leases.release(ANN, token)
}

describe('reconcile', () => {
  it('ends what a crash left open in neutral words, keeps its text, and marks running calls as unknown', async () => {
    const { store, clock } = await crashed()
    expect(await reconcile({ store, clock })).toEqual({ runs: 2, calls: 2, alive: 0, lost: 0 })
    expect(await store.records.runs(ANN)).toMatchObject([
      { runId: 'lost', status: 'failed', text: 'half', error: { code: 'OUTCOME_UNKNOWN' }, endedAt: 101_000 },
      { runId: 'lost/tool:0:0', status: 'failed', error: { code: 'OUTCOME_UNKNOWN' } },
    ])
    expect((await store.records.toolCalls(ANN, 'lost')).map(({ callId, status }) => [callId, status])).toEqual([
      ['c1', 'unknown'],
      ['c2', 'awaiting'],
      ['c3', 'complete'],
    ])
    expect(await store.records.toolCalls(ANN, 'lost/tool:0:0')).toMatchObject([
      { status: 'unknown', result: { content: 'The outcome of this call is not known.' } },
    ])
  })

  it('ends a run as its thread has it, if its process died before it recorded its end', async () => {
    const { store, clock } = await crashed()
    const usage = { inputTokens: 3, outputTokens: 2 }
    await store.records.apply(ANN, [
      { type: 'usage', runId: 'lost', spanId: 's', model: 'm', usage },
      { type: 'run-finish', runId: 'lost/tool:0:0', status: 'complete', usage, endedAt: 2 },
    ])
    await ended(store, [
      { id: 'u', role: 'user', content: 'Hi' },
      { id: 'a', role: 'assistant', content: '', toolCalls: [{ id: 'c1', name: 'look', arguments: '{}' }] },
      { id: 't', role: 'tool', callId: 'c1', name: 'look', content: 'seen' },
      { id: 'b', role: 'assistant', content: 'All of it.' },
    ])
    expect(await reconcile({ store, clock })).toEqual({ runs: 1, calls: 0, alive: 0, lost: 0 })
    const [run] = await store.records.runs(ANN)
    expect(run).toMatchObject({ status: 'complete', text: 'All of it.', endedAt: 101_000 })
    expect([run?.error, run?.usage]).toEqual([undefined, { inputTokens: 6, outputTokens: 4 }])
    expect(await store.records.toolCalls(ANN, 'lost')).toMatchObject([
      { callId: 'c1', status: 'complete', result: { content: 'seen' } },
      { status: 'awaiting' },
      { status: 'complete' },
    ])
  })

  it('ends a run as interrupted whose question is in its thread', async () => {
    const { store, clock } = await crashed()
    const interrupts = [{ id: 'c2#1', reason: 'approval', agentName: 'agent', callId: 'c2' }]
    const checkpoint = { format: 1, runId: 'lost', agentName: 'agent', interrupts, state: null }
    const toolCalls = [{ id: 'c2', name: 'pay', arguments: '{}' }]
    await ended(store, [{ id: 'a', role: 'assistant', content: 'May I?', toolCalls }], { checkpoint })
    await reconcile({ store, clock })
    expect((await store.records.runs(ANN))[0]).toMatchObject({ status: 'interrupted', text: 'May I?' })
  })

  it.each<[string, Message[]]>([
    ['it has only its question', [{ id: 'u', role: 'user', content: 'Hi' }]],
    ['its answer was cut off', [{ id: 'a', role: 'assistant', content: 'All', partial: true }]],
    ['its last message is a result', [{ id: 't', role: 'tool', callId: 'c1', name: 'look', content: 'seen' }]],
  ])('ends a run as failed if the thread does not tell how it ended: %s', async (_, messages) => {
    const { store, clock } = await crashed()
    await ended(store, messages)
    await reconcile({ store, clock })
    expect((await store.records.runs(ANN))[0]).toMatchObject({ status: 'failed', error: { code: 'OUTCOME_UNKNOWN' } })
  })

  it('run twice, and by several at once, changes everything once', async () => {
    const { store, clock } = await crashed()
    const done = await Promise.all([1, 2, 3, 4].map(() => reconcile({ store, clock, pageSize: 1 })))
    expect(done.reduce((sum, { runs }) => sum + runs, 0)).toBe(2)
    const before = [await store.records.runs(ANN), await store.records.toolCalls(ANN, 'lost')]
    clock.advance(1_000)
    expect(await reconcile({ store, clock })).toEqual({ runs: 0, calls: 0, alive: 0, lost: 0 })
    expect([await store.records.runs(ANN), await store.records.toolCalls(ANN, 'lost')]).toEqual(before)
  })

  it('leaves runs alone whose lease is alive, with those nested in them, and goes on behind them', async () => {
    const { store, clock } = await crashed()
    await store.leases.acquire(ANN, { runId: 'lost', ttlMs: 10_000 })
    const ben = { ...ANN, user: 'ben' }
    await store.threads.open(ben)
    await store.records.apply(ben, [start('behind')])
    expect(await reconcile({ store, clock, pageSize: 1 })).toEqual({ runs: 1, calls: 0, alive: 2, lost: 0 })
    expect((await store.records.runs(ANN)).map(({ status }) => status)).toEqual(['generating', 'generating'])
    clock.advance(10_000)
    expect(await reconcile({ store, clock })).toMatchObject({ runs: 2, alive: 0 })
  })

  it('leaves a run alone that is nested deeper in one whose lease is alive, whatever the ids of the runs', async () => {
    const { store, clock } = await recordsHarness()
    clock.advance(100_000)
    await store.records.apply(ANN, [
      start('before'),
      start('outer'),
      start('middle', 'outer'),
      { type: 'run-finish', runId: 'middle', status: 'cancelled', endedAt: 2 },
      start('inner', 'middle'),
      start('outer/tool:0:0', 'before'),
      ...Array.from({ length: 150 }, (_, i) => start(`n${i}`, i === 0 ? 'inner' : `n${i - 1}`)),
    ])
    await store.leases.acquire(ANN, { runId: 'outer', ttlMs: 10_000 })
    expect(await reconcile({ store, clock, pageSize: 10 })).toEqual({ runs: 2, calls: 0, alive: 152, lost: 0 })
    const ended = (await store.records.runs(ANN)).filter(({ status }) => status === 'failed')
    expect(ended.map(({ runId }) => runId)).toEqual(['before', 'outer/tool:0:0'])
  })

  it('leaves alone a lost run that its thread names as unfinished, with those nested in it and their calls, until it ends', async () => {
    const { store, clock } = await crashed()
    const { token } = await store.leases.acquire(ANN, { runId: 'lost', ttlMs: 1_000 })
    await store.threads.commit(ANN, { journal: { runId: 'lost', entries: [] } }, token)
    await store.records.apply(ANN, [
      start('other'),
      start('lost/tool:0:1', 'lost'),
      call('c4', 'lost/tool:0:1', 'interrupted'),
      { type: 'run-finish', runId: 'lost/tool:0:1', status: 'interrupted', endedAt: 2 },
    ])
    expect(await reconcile({ store, clock })).toEqual({ runs: 1, calls: 0, alive: 2, lost: 0 })
    clock.advance(100_000)
    const before = [await store.records.toolCalls(ANN, 'lost'), await store.records.toolCalls(ANN, 'lost/tool:0:1')]
    for (const pageSize of [1, 100]) {
      const done = await reconcile({ store, clock, pageSize, threads: [ANN] })
      expect(done).toEqual({ runs: 0, calls: 0, alive: 0, lost: 2 })
    }
    expect((await store.records.runs(ANN)).map(({ status }) => status)).toEqual([
      'generating',
      'generating',
      'failed',
      'interrupted',
    ])
    expect([await store.records.toolCalls(ANN, 'lost'), await store.records.toolCalls(ANN, 'lost/tool:0:1')]).toEqual(
      before,
    )
    await store.threads.commit(ANN, { journal: null }, token)
    clock.advance(100_000)
    expect(await reconcile({ store, clock, threads: [ANN] })).toEqual({ runs: 2, calls: 4, alive: 0, lost: 0 })
  })

  it('leaves young runs alone: their last write may be under way', async () => {
    const { store, clock } = await crashed()
    expect(await reconcile({ store, clock, before: 1 })).toMatchObject({ runs: 0 })
    await store.records.apply(ANN, [
      { type: 'run-start', run: { runId: 'young', agentName: 'a', startedAt: clock.now() } },
    ])
    expect(await reconcile({ store, clock })).toMatchObject({ runs: 2 })
    expect((await store.records.runs(ANN)).at(-1)).toMatchObject({ runId: 'young', status: 'generating' })
  })

  it('goes through many, page by page', async () => {
    const { store, clock } = await recordsHarness()
    clock.advance(100_000)
    const ids = Array.from({ length: 250 }, (_, i) => `run-${i}`)
    await store.records.apply(
      ANN,
      ids.map((id) => start(id)),
    )
    expect(await reconcile({ store, clock, pageSize: 7 })).toEqual({ runs: 250, calls: 0, alive: 0, lost: 0 })
  })

  it('finds nothing running when another run took the thread over, and in the threads it is given what was parked', async () => {
    const { store, clock } = await crashed()
    await store.leases.acquire(ANN, { runId: 'lost', ttlMs: 1_000 })
    clock.advance(1_001)
    await store.leases.acquire(ANN, { runId: 'next', ttlMs: 1_000 })
    expect((await store.records.runs(ANN))[0]).toMatchObject({ status: 'failed', error: { code: 'LEASE_LOST' } })
    expect(await reconcile({ store, clock })).toEqual({ runs: 0, calls: 0, alive: 0, lost: 0 })
    const statuses = async () => (await store.records.toolCalls(ANN, 'lost')).map(({ status }) => status)
    expect(await statuses()).toEqual(['unknown', 'awaiting', 'complete'])
    expect(await reconcile({ store, clock, threads: [ANN], pageSize: 1 })).toEqual({
      runs: 0,
      calls: 1,
      alive: 0,
      lost: 0,
    })
    expect(await statuses()).toEqual(['unknown', 'unknown', 'complete'])
  })

  it('marks parked calls that their thread waits for no more, in the threads it is given, once the thread is at rest', async () => {
    const { store, clock } = await recordsHarness()
    const { token } = await store.leases.acquire(ANN, { runId: 'asks', ttlMs: 1_000 })
    const interrupts = [{ id: 'c2#x', callId: 'c2', agentName: 'agent', reason: 'approval' }]
    const checkpoint = { format: 1, runId: 'asks', agentName: 'agent', interrupts, state: null }
    const openCalls = [{ callId: 'c1', name: 'look', agentName: 'agent' }]
    await store.threads.commit(ANN, { openCalls, checkpoint }, token)
    await store.records.apply(ANN, [
      start('asks'),
      call('c1', 'asks', 'awaiting'),
      call('c2', 'asks', 'interrupted'),
      call('c2/c1', 'asks', 'interrupted'),
      { type: 'run-finish', runId: 'asks', status: 'interrupted', endedAt: 2 },
    ])
    const threads = [ANN]
    clock.advance(100_000)
    expect(await reconcile({ store, clock, threads })).toMatchObject({ calls: 0 })
    await store.threads.commit(ANN, { openCalls: [], checkpoint: null }, token)
    expect(await reconcile({ store, clock, threads })).toMatchObject({ calls: 0 })
    clock.advance(100_000)
    expect(await reconcile({ store, clock, threads })).toMatchObject({ calls: 3 })
    expect((await store.records.toolCalls(ANN, 'asks')).map(({ status }) => status)).toEqual(Array(3).fill('unknown'))
  })
})
