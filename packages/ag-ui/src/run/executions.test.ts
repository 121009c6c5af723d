import { getEventListeners } from 'node:events'
import { KernelError, type ThreadRef } from '@troupe/kernel'
import { fakeClock } from '@troupe/testkit'
import { describe, expect, test } from 'vitest'
import { ExecutionState } from './execution-state.ts'
import { Executions } from './executions.ts'

const ref: ThreadRef = { app: 'demo', user: 'ann', threadId: 't1' }
const clock = fakeClock(0)

function entered(executions: Executions, runId: string, at: ThreadRef = ref): ExecutionState {
  const execution = new ExecutionState(at, runId, clock.now())
  executions.enter(execution)
  return execution
}

describe('the runs of this process', () => {
  test('are found by thread and run until they end', async () => {
    const executions = new Executions(clock)
    const [first, second] = [entered(executions, 'r1'), entered(executions, 'r2')]
    expect(executions.find(ref)).toBe(first)
    expect(executions.find(ref, 'r2')).toBe(second)
    for (const other of [{ app: 'x' }, { user: 'x' }, { threadId: 'x' }]) {
      expect(executions.find({ ...ref, ...other })).toBeUndefined()
    }
    first.end()
    await first.ended
    expect([executions.find(ref, 'r1'), executions.find(ref), executions.size]).toEqual([undefined, second, 1])
  })

  test('can be the same run in the tables of an agent and of a server around it', async () => {
    const [inner, outer] = [new Executions(clock), new Executions(clock)]
    const execution = entered(inner, 'r1')
    outer.enter(execution)
    execution.end()
    await execution.ended
    expect([inner.size, outer.size]).toEqual([0, 0])
  })

  test('are awaited by the next request of a thread if they were stopped, and not otherwise', async () => {
    const executions = new Executions(clock)
    const execution = entered(executions, 'r1')
    await executions.settled(ref, 'next')
    execution.stop()
    expect(execution.signal.reason).toMatchObject({ code: 'ABORTED' })
    let settled = false
    const waiting = executions.settled(ref, 'next').then(() => {
      settled = true
    })
    await Promise.resolve()
    expect(settled).toBe(false)
    execution.end()
    await waiting
    expect(clock.pending).toBe(0)
  })

  test('that do not end are awaited for two seconds', async () => {
    const executions = new Executions(clock)
    const soon = executions.endsSoon(entered(executions, 'r1'))
    clock.advance(2_000)
    expect(await soon).toBe(false)
  })

  test('all end before a stop, or are stopped after its time', async () => {
    const executions = new Executions(clock)
    const execution = entered(executions, 'r1')
    const stopped = executions.stopAll(100)
    expect([executions.stopping, execution.signal.aborted]).toEqual([true, false])
    clock.advance(100)
    await new Promise((resolve) => setImmediate(resolve))
    expect(execution.signal.reason).toMatchObject({ code: 'ABORTED', message: 'server: stopped' })
    const late = entered(executions, 'r2')
    expect(late.signal.aborted).toBe(true)
    execution.end()
    late.end()
    await stopped
    expect([executions.size, clock.pending]).toEqual([0, 0])
  })

  test('keep the first reason to stop', () => {
    const execution = new ExecutionState(ref, 'r1', 0)
    using _ = execution.stopWith(AbortSignal.abort('caller'))
    execution.stop(new KernelError('TOOL_TIMEOUT', 'tool: too slow'))
    expect(execution.signal.reason).toBe('caller')
  })

  test('stop with the signal of their caller until that is disposed, which leaves no listener', () => {
    const [first, second] = [new ExecutionState(ref, 'r1', 0), new ExecutionState(ref, 'r2', 0)]
    const caller = new AbortController()
    first.stopWith(caller.signal)[Symbol.dispose]()
    expect(getEventListeners(caller.signal, 'abort')).toHaveLength(0)
    second.stopWith(caller.signal)
    caller.abort('enough')
    expect([first.signal.aborted, second.signal.reason]).toEqual([false, 'enough'])
  })
})
