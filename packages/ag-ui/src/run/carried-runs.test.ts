import { EventType } from '@ag-ui/core'
import { memoryStore } from '@troupe/kernel/memory-store'
import { fakeClock } from '@troupe/testkit'
import { describe, expect, it, vi } from 'vitest'
import type { AgUiEvent } from '../protocol.ts'
import { ExecutionState } from './execution-state.ts'
import { Executions } from './executions.ts'
import { followLog } from './follow-log.ts'

const REF = { app: 'a', user: 'u', threadId: 't' }
const STARTED: AgUiEvent = { type: EventType.RUN_STARTED, threadId: 't', runId: 'r' }

/** A follower of a run of another server that workers carry out; `progress` are the answers of its looks. */
async function follower(progress: readonly (number | undefined)[], lostRuns: 'continue' | 'leave' = 'continue') {
  const clock = fakeClock()
  const store = memoryStore({ clock })
  await store.leases.acquire(REF, { runId: 'r', ttlMs: 1_000_000 })
  await store.threads.open(REF)
  await store.runLog.append(REF, 'r', 0, [STARTED as never])
  const controller = new AbortController()
  const proceed = vi.fn(async () => true)
  const looks = [...progress]
  const looked = vi.fn(async () => looks.shift())
  const following = followLog({
    executions: new Executions(clock),
    store,
    clock,
    ref: REF,
    runId: 'r',
    after: 0,
    signal: controller.signal,
    lookMs: 100,
    lostRuns,
    agent: {},
    proceed,
    progress: looked,
    report: (error) => expect.unreachable(String(error)),
  })
  await following.next()
  const next = following.next()
  const look = async () => {
    const { length } = looked.mock.calls
    clock.advance(100)
    if (lostRuns === 'continue') await vi.waitFor(() => expect(looked.mock.calls.length).toBe(length + 1))
    await new Promise((resolve) => setImmediate(resolve))
  }
  const leave = async () => {
    controller.abort()
    await next
  }
  return { look, leave, proceed, looked }
}

describe('a log that stands still', () => {
  it('is gone on with if its run shows more meanwhile', async () => {
    const { look, leave, proceed } = await follower([3, 5])
    await look()
    expect(proceed).not.toHaveBeenCalled()
    await look()
    expect(proceed).toHaveBeenCalledOnce()
    await leave()
  })

  it('is left alone if its run shows nothing either', async () => {
    const { look, leave, proceed } = await follower([3, 3, 3])
    for (let i = 0; i < 3; i++) await look()
    expect(proceed).not.toHaveBeenCalled()
    await leave()
  })

  it('is left alone if no workers carry its run out, or lost runs are left alone', async () => {
    const local = await follower([undefined, undefined])
    for (let i = 0; i < 2; i++) await local.look()
    expect(local.proceed).not.toHaveBeenCalled()
    await local.leave()
    const left = await follower([1, 2], 'leave')
    for (let i = 0; i < 2; i++) await left.look()
    expect([left.proceed.mock.calls, left.looked.mock.calls]).toEqual([[], []])
    await left.leave()
  })
})

describe('a server that stops', () => {
  it('leaves the runs that workers carry out at once, and stops the others', async () => {
    const clock = fakeClock()
    const executions = new Executions(clock)
    const [carried, own] = ['carried', 'own'].map((runId) => new ExecutionState(REF, runId, 0)) as [
      ExecutionState,
      ExecutionState,
    ]
    const leave = vi.fn(() => carried.end())
    carried.log = { leave } as never
    own.log = { leave: () => expect.unreachable('it is not carried') } as never
    for (const run of [carried, own]) executions.enter(run)
    const stopped = executions.stopAll(1_000, async ({ runId }) => runId === 'carried')
    await vi.waitFor(() => expect(leave).toHaveBeenCalledOnce())
    expect(own.signal.aborted).toBe(false)
    own.signal.addEventListener('abort', () => own.end())
    await new Promise((resolve) => setImmediate(resolve))
    clock.advance(1_000)
    await stopped
    expect([own.signal.aborted, carried.signal.aborted]).toEqual([true, false])
  })
})
