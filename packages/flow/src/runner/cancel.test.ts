import { getEventListeners } from 'node:events'
import type { CancelMode } from '@troupe/kernel'
import { UNKNOWN_RESULT } from '@troupe/kernel/history'
import { describe, expect, test } from 'vitest'
import { type FlowRequest, type FlowRunner, parallel, type RunnerOptions } from '../index.ts'
import { type Gate, gate, obedient, TOOLS } from './obedient.fixture.ts'
import { ANN, idle, readTo, type Setup, session, settled, setup, unsound } from './runner.fixture.ts'

/** Starts a run R1 with two calls in one message: one is done, one waits. */
async function waitingInTool(
  options: Partial<RunnerOptions> = {},
  work: 'pass' | 'deaf' = 'pass',
  request: FlowRequest = {},
): Promise<Setup & { desk: FlowRunner; gate: Gate; first: Promise<string>; stop: AbortController }> {
  const door = gate()
  const env = setup({ agent: obedient('Desk', { ...TOOLS, wait: door[work] }), ...options })
  const desk = env.runner()
  const stop = new AbortController()
  const first = settled(desk.query('call add:a wait:b', { ...session, runId: 'R1', signal: stop.signal, ...request }))
  await door.entered
  return { ...env, desk, gate: door, first, stop }
}

/** Checks that the thread can be used: every call has one result, and the next message is answered. */
async function usable({
  clock,
  store,
  heard,
  messages,
  desk,
  stop,
}: Awaited<ReturnType<typeof waitingInTool>>): Promise<void> {
  expect(heard.filter(({ type, runId }) => type === 'run-end' && runId === 'R1')).toHaveLength(1)
  expect(unsound(await messages())).toEqual([])
  expect(await store.threads.get(ANN)).toMatchObject({ openCalls: [] })
  expect((await store.threads.get(ANN))?.checkpoint).toBeUndefined()
  expect(await settled(desk.query('next', session))).toBe('heard call add:a wait:b | next')
  expect(unsound(await messages())).toEqual([])
  expect(clock.pending).toBe(0)
  expect(getEventListeners(stop.signal, 'abort')).toEqual([])
}

describe.each(['this runner', 'another runner'])('cancel from %s', (where) => {
  const cancel = async (
    { desk, runner, pass }: Setup & { desk: FlowRunner },
    request?: { mode?: CancelMode; runId?: string },
  ) => {
    const done = await (where === 'this runner' ? desk : runner()).cancel(ANN, request)
    if (where === 'another runner') await pass(2_000)
    await idle()
    return done
  }

  test.each([undefined, 'now'] as const)('mode %s aborts at once', async (mode) => {
    const env = await waitingInTool()
    expect(await cancel(env, mode ? { mode } : undefined)).toBe(true)
    expect(await env.first).toBe('ABORTED')
    expect(env.heard.at(-1)).toMatchObject({ type: 'run-end', outcome: 'cancelled', error: { code: 'ABORTED' } })
    expect(env.heard.filter(({ type }) => type === 'error')).toEqual([])
    await usable(env)
  })

  test('calls whose result is not known are marked so, in neutral words', async () => {
    const env = await waitingInTool()
    await cancel(env)
    await env.first
    expect((await env.lines()).slice(1)).toEqual([
      'assistant -> add:a wait:b',
      'tool a: added a',
      `tool b: ${UNKNOWN_RESULT}`,
    ])
    expect((await env.messages()).slice(2)).toMatchObject([{ agentName: 'Desk' }, { agentName: 'Desk' }])
    await usable(env)
  })

  test('after-tools lets the tools end and asks the model no more', async () => {
    const env = await waitingInTool()
    expect(await cancel(env, { mode: 'after-tools' })).toBe(true)
    env.gate.open()
    expect(await env.first).toBe('ABORTED')
    expect(env.heard.at(-1)).toMatchObject({ outcome: 'cancelled' })
    expect((await env.lines()).slice(2)).toEqual(['tool a: added a', 'tool b: passed'])
    await usable(env)
  })

  test('after-model does not run the calls the model made', async () => {
    const ran: string[] = []
    const env = setup({ agent: obedient('Desk', { add: (_, id) => String(ran.push(id)) }) })
    const desk = env.runner()
    const run = desk.query('call add:a', session)
    const iterator = await readTo(run, 'tool-call-start')
    expect(await cancel({ ...env, desk }, { mode: 'after-model' })).toBe(true)
    while (!(await iterator.next()).done);
    expect(await settled(run)).toBe('ABORTED')
    expect(ran).toEqual([])
    expect(await env.lines()).toEqual(['user call add:a', 'assistant -> add:a', `tool a: ${UNKNOWN_RESULT}`])
    expect(await settled(desk.query('next', session))).toBe('heard call add:a | next')
    expect(unsound(await env.messages())).toEqual([])
  })

  test('the id of another run cancels nothing', async () => {
    const env = await waitingInTool()
    expect(await cancel(env, { runId: 'R0' })).toBe(false)
    env.gate.open()
    expect(await env.first).toBe('got added a, passed')
    await usable(env)
  })

  test('the id of this run cancels it', async () => {
    const env = await waitingInTool()
    expect(await cancel(env, { runId: 'R1' })).toBe(true)
    expect(await env.first).toBe('ABORTED')
    await usable(env)
  })

  test('is false where nothing runs', async () => {
    const env = setup()
    const desk = env.runner()
    expect(await cancel({ ...env, desk })).toBe(false)
    await desk.query('hi', session)
    expect(await cancel({ ...env, desk })).toBe(false)
    await desk.query('call ask:a', session)
    expect(await cancel({ ...env, desk })).toBe(false)
  })

  test('a soft cancel becomes hard after cancelMs', async () => {
    const env = await waitingInTool({ limits: { cancelMs: 5_000 } })
    await cancel(env, { mode: 'after-tools' })
    await env.pass(4_000)
    expect(env.heard.at(-1)?.type).not.toBe('run-end')
    await env.pass(3_000)
    expect(await env.first).toBe('ABORTED')
    const message = 'run: cancelled after-tools, and aborted because it had not stopped after 5000 ms'
    expect(env.heard.at(-1)).toMatchObject({ outcome: 'cancelled', error: { code: 'ABORTED', message } })
    await usable(env)
  })

  test('a harder mode replaces a softer one, a softer one does not replace a harder one', async () => {
    const env = await waitingInTool()
    await cancel(env, { mode: 'after-tools' })
    await cancel(env, { mode: 'now' })
    expect(await env.first).toBe('ABORTED')
    await usable(env)
    const soft = await waitingInTool()
    await cancel(soft, { mode: 'after-model' })
    await cancel(soft, { mode: 'after-tools' })
    soft.gate.open()
    expect(await soft.first).toBe('ABORTED')
    await usable(soft)
  })
})

describe('a run is stopped', () => {
  test('when it takes longer than runMs: failed with TIMEOUT', async () => {
    const env = await waitingInTool({ limits: { runMs: 10_000 } })
    await env.pass(9_000)
    expect(env.heard.at(-1)?.type).not.toBe('run-end')
    await env.pass(2_000)
    expect(await env.first).toBe('TIMEOUT')
    expect(env.heard.at(-1)).toMatchObject({ type: 'run-end', outcome: 'failed', error: { code: 'TIMEOUT' } })
    expect(env.heard.filter(({ type }) => type === 'error')).toHaveLength(1)
    await usable(env)
  })

  test.each([
    ['shorter', 10_000, 60_000],
    ['longer', 60_000, 10_000],
  ])(
    'when it takes longer than the timeoutMs of its request, which may be %s than runMs',
    async (_, timeoutMs, runMs) => {
      const env = await waitingInTool({ limits: { runMs } }, 'pass', { timeoutMs })
      await env.pass(timeoutMs - 1_000)
      expect(env.heard.at(-1)?.type).not.toBe('run-end')
      await env.pass(2_000)
      expect(await env.first).toBe('TIMEOUT')
      expect(env.heard.at(-1)).toMatchObject({
        outcome: 'failed',
        error: { message: expect.stringContaining(`${timeoutMs} ms`) },
      })
      await usable(env)
    },
  )

  test('when its tool ignores the abort: after a grace period', async () => {
    const env = await waitingInTool({}, 'deaf')
    await env.desk.cancel(ANN)
    await env.pass(1_500)
    expect(await env.first).toBe('ABORTED')
    await usable(env)
    env.gate.open()
    await idle()
    expect(unsound(await env.messages())).toEqual([])
  })

  test('by the signal of its caller: cancelled', async () => {
    const env = await waitingInTool()
    env.stop.abort()
    expect(await env.first).toBe('ABORTED')
    await usable(env)
  })

  test('by a signal that says TimeoutError: failed with TIMEOUT', async () => {
    const env = await waitingInTool()
    env.stop.abort(new DOMException('too late', 'TimeoutError'))
    expect(await env.first).toBe('TIMEOUT')
    await usable(env)
  })

  test('before it begins, by a signal that has fired: nothing is stored', async () => {
    const env = setup()
    const desk = env.runner()
    expect(await settled(desk.query('hi', { ...session, signal: AbortSignal.abort() }))).toBe('ABORTED')
    expect(await env.messages()).toEqual([])
    expect(await settled(desk.query('next', session))).toBe('heard next')
    expect(env.clock.pending).toBe(0)
  })

  test('when its consumer has left: what was said is stored, and the thread is free when the loop is', async () => {
    const env = setup()
    const desk = env.runner()
    for await (const event of desk.query('call add:a', session)) if (event.type === 'tool-start') break
    expect(await env.lines()).toEqual(['user call add:a', 'assistant -> add:a', `tool a: ${UNKNOWN_RESULT}`])
    expect(env.heard.at(-1)).toMatchObject({ type: 'run-end', outcome: 'cancelled' })
    expect(await settled(desk.query('next', session))).toBe('heard call add:a | next')
    expect(env.clock.pending).toBe(0)
  })

  test.each(['tool-start', 'message-start', 'run-start'] as const)(
    'when its consumer leaves a %s unread for idleMs: failed with TIMEOUT, and the thread is free',
    async (type) => {
      const env = setup({ limits: { idleMs: 10_000 } })
      const desk = env.runner()
      const run = desk.query(type === 'tool-start' ? 'call add:a' : 'hi', session)
      const iterator = await readTo(run, type)
      await env.pass(8_000)
      expect((await env.store.threads.get(ANN))?.runId).toBeDefined()
      await env.pass(16_000) // a gated event may wait for two reads
      expect(await settled(run)).toBe('TIMEOUT')
      expect(env.heard.at(-1)).toMatchObject({ type: 'run-end', outcome: 'failed' })
      expect(unsound(await env.messages())).toEqual([])
      expect(await settled(desk.query('next', session))).toMatch(/^heard .* \| next$/)
      await iterator.return?.()
      expect(env.clock.pending).toBe(0)
    },
  )

  const readSlowly = async (text: string) => {
    const env = setup({ limits: { idleMs: 5_000 } })
    const iterator = env.runner().query(text, session)[Symbol.asyncIterator]()
    while (!(await iterator.next()).done) await env.pass(3_000)
    return env.heard.at(-1)
  }

  test('not while a consumer reads slowly', async () => {
    expect(await readSlowly('hi')).toMatchObject({ type: 'run-end', outcome: 'complete' })
  })

  test('not while a consumer reads slowly what is gated', async () => {
    expect(await readSlowly('call add:a')).toMatchObject({ type: 'run-end', outcome: 'complete' })
  })

  test('not because it is awaited and its events are not read', async () => {
    const env = await waitingInTool({ limits: { idleMs: 5_000 } })
    await env.pass(20_000)
    env.gate.open()
    expect(await env.first).toBe('got added a, passed')
    await usable(env)
  })

  test('in parallel branches: each call has its result right after its message', async () => {
    const door = gate()
    const tools = { ...TOOLS, wait: door.pass }
    const agent = parallel({ name: 'Both', agents: [obedient('Left', tools), obedient('Right', tools)] })
    const env = setup({ agent })
    const desk = env.runner()
    const run = settled(desk.query('call wait:x', session))
    await door.entered
    await desk.cancel(ANN)
    expect(await run).toBe('ABORTED')
    expect(unsound(await env.messages())).toEqual([])
  })
})

test('after a soft cancel has become hard, the store is not asked again and again', async () => {
  const env = await waitingInTool({ limits: { cancelMs: 1_000 } }, 'deaf')
  let renewals = 0
  const { renew } = env.store.leases
  env.store.leases.renew = (...args) => {
    renewals++
    return renew(...args)
  }
  await env.desk.cancel(ANN, { mode: 'after-tools' })
  await env.pass(1_000)
  for (let i = 0; i < 50; i++) await env.pass(1, 1)
  expect(renewals).toBeLessThanOrEqual(2)
  await env.pass(2_000)
  expect(await env.first).toBe('ABORTED')
  await usable(env)
})
