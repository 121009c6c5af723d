import { EventType } from '@ag-ui/core'
import { type CancelRequest, say } from '@troupe/kernel'
import { expect, test } from 'vitest'
import { ANN, agentOf, calm, echo, request, stage, stuck, user } from '../agent/agent.fixture.ts'
import { smallRunner } from '../agent/small-runner.fixture.ts'
import type { ServedAgent } from '../run/served-agent.ts'
import { agUiHandler } from './ag-ui-handler.ts'
import { framesOf, get, post } from './http.fixture.ts'

const owner = { app: ANN.app, user: ANN.user }
const cancelOf = (runId: string) =>
  new Request(`http://localhost/threads/t1/runs/${runId}/cancel`, { method: 'POST', headers: { authorization: 'ann' } })

test('a handler and its AgUiAgent have one table of runs', async () => {
  const { agent, store, clock } = stage(stuck)
  const handler = agUiHandler({ agent, store, owner, clock })
  const response = await handler(post(request({ runId: 'r1', protocolVersion: '1.0', messages: [user('a')] })))
  const execution = agent.executions.find(ANN, 'r1')
  expect([agent.activeExecutions, execution?.log?.tail.last]).toEqual([1, expect.any(Number)])
  const cancelled = handler(cancelOf('r1'))
  await calm()
  clock.advance(2_000)
  expect(await (await cancelled).json()).toEqual({ cancelled: true, ended: true })
  expect((await framesOf(response)).at(-1)?.event).toMatchObject({ outcome: { type: 'cancelled' } })
  expect([agent.activeExecutions, clock.pending]).toEqual([0, 0])
})

test('stopping a handler stops the runs of its agent, and what is refused leaves no run behind', async () => {
  const { agent, store, clock } = stage(stuck)
  const handler = agUiHandler({ agent, store, owner, clock })
  const first = await handler(post(request({ runId: 'r1', protocolVersion: '1.0', messages: [user('a')] })))
  const refused = handler(post(request({ runId: 'r2', protocolVersion: '1.0', messages: [user('b')] })))
  await calm()
  // The reader of the first run may be about to leave.
  clock.advance(100)
  const busy = await refused
  expect([busy.status, agent.activeExecutions]).toEqual([409, 1])
  const stopped = handler.stop(100)
  for (const ms of [100, 2_000]) {
    clock.advance(ms)
    await calm()
  }
  await stopped
  expect((await framesOf(first)).at(-1)?.event).toMatchObject({ outcome: { type: 'cancelled' } })
  expect(agent.activeExecutions).toBe(0)
})

test('a run has its place until its reader has its last event, and every event is verified', async () => {
  const { agent, store, clock } = stage(
    agentOf(async function* (_, ctx) {
      yield* say(ctx, 'one')
      await ctx.emit('progress', 1)
      yield* say(ctx, 'two')
    }),
    { maxConcurrentExecutions: 1 },
  )
  const handler = agUiHandler({ agent, store, owner, clock })
  for (const runId of ['r1', 'r2', 'r3']) {
    const input = request({ runId, protocolVersion: '1.0', messages: [user(runId)] })
    const frames = await framesOf(await handler(post(input)))
    expect(frames.at(-1)?.event.type).toBe(EventType.RUN_FINISHED)
    expect(await framesOf(await handler(get(`/threads/t1/runs/${runId}?protocolVersion=1.0`)))).toEqual(frames)
  }
})

test('a run of another process is cancelled through the Runner', async () => {
  const asked: (CancelRequest | undefined)[] = []
  const { store, clock } = stage()
  const runner = smallRunner(echo, store, clock)
  const { agent } = stage(echo, {
    store,
    runner: {
      ...runner,
      async cancel(ref, asking) {
        asked.push(asking)
        return ref.threadId === 't1'
      },
    },
  })
  expect(await agent.cancel(ANN, 'r1')).toBe(true)
  expect(await agent.cancel({ ...ANN, threadId: 't2' })).toBe(false)
  expect(asked).toEqual([{ mode: 'now', runId: 'r1' }, { mode: 'now' }])
})

test('an agent around an AgUiAgent can stop its runs with a signal of its own', async () => {
  const { agent, store, clock } = stage(stuck)
  const controller = new AbortController()
  const around: ServedAgent = {
    run: (input, options) => agent.run(input, { ...options, signal: controller.signal }),
    cancel: (ref, runId) => agent.cancel(ref, runId),
  }
  const handler = agUiHandler({ agent: around, store, owner, clock })
  const response = await handler(post(request({ runId: 'r1', protocolVersion: '1.0', messages: [user('a')] })))
  controller.abort()
  await calm()
  clock.advance(2_000)
  expect((await framesOf(response)).at(-1)?.event).toMatchObject({ outcome: { type: 'cancelled' } })
  expect([agent.activeExecutions, clock.pending]).toEqual([0, 0])
})
