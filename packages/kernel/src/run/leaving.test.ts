import { beforeEach, describe, expect, test } from 'vitest'
import type { AgentEvent, EventDraft } from '../index.ts'
import { KernelError, say, stream } from '../index.ts'
import { startRun } from '../run.ts'
import { collect, idle, noUnhandledRejection, raise } from '../stream/stream.fixture.ts'
import {
  action,
  agentOf,
  boom,
  CLEAN,
  countOf,
  input,
  never,
  quiet,
  settled,
  toolStart,
  typesOf,
  watched,
} from './run.fixture.ts'

beforeEach(noUnhandledRejection)

describe('a consumer that leaves', () => {
  const effects: string[] = []
  const generator = agentOf('a', async function* (ctx) {
    yield* say(ctx, 'one')
    yield toolStart
    effects.push('tool')
    yield { type: 'tool-end', callId: 'c', messageId: 'm', name: 't', status: 'complete', content: 'ok' }
    yield action
    effects.push('action')
    yield* say(ctx, 'two')
  })
  const pusher = agentOf('a', (ctx) =>
    stream<EventDraft>(async (sink) => {
      for await (const event of generator.run(input, ctx)) await sink.write(event)
    }),
  )

  test.each([
    ['a generator', generator],
    ['a pushing agent', pusher],
  ])('at any event of %s gets one terminal and no effect behind a gate it did not pass', async (_, agent) => {
    effects.length = 0
    const all = typesOf(await collect(startRun(agent, input)))
    expect(effects).toEqual(['tool', 'action'])
    for (let leaveAt = 0; leaveAt < all.length; leaveAt++) {
      effects.length = 0
      const { run, spans, leftovers } = watched(agent)
      let seen = 0
      for await (const event of run) {
        expect(event.type).toBe(all[seen])
        if (seen++ === leaveAt) break
      }
      const code = await settled(run)
      await idle()
      const why = `left after ${all[leaveAt]} (${leaveAt})`
      expect(leftovers(), why).toEqual(CLEAN)
      expect(effects, why).toEqual(
        ['tool', 'action'].filter((effect) => all.findIndex((type) => type.startsWith(effect)) < leaveAt),
      )
      const unfinished = leaveAt < all.lastIndexOf('text-delta')
      if (unfinished) expect([code, spans.at(-1)], why).toEqual(['ABORTED', '-run cancelled'])
    }
  })

  test('before the first event is gone at once and runs nothing', async () => {
    effects.length = 0
    const { run, begin, spans, parts } = watched(generator)
    const iterator = await begin(0)
    expect([await iterator.return?.(), await iterator.next()]).toMatchObject([{ done: true }, { done: true }])
    expect(await settled(run)).toBe('ABORTED')
    expect([effects, countOf(typesOf(parts), 'run-end')]).toEqual([[], countOf(spans, '+run')])
  })

  test('while a listening agent is silent needs no time to get away', async () => {
    const reasons: unknown[] = []
    const agent = agentOf('a', async function* (ctx) {
      yield* say(ctx, 'one')
      await new Promise((_, reject) => ctx.signal.addEventListener('abort', () => reject(ctx.signal.reason))).catch(
        (error: unknown) => raise(reasons.push(error) && error),
      )
    })
    const { run, begin, leftovers } = watched(agent)
    const iterator = await begin(5)
    const pending = [iterator.next(), iterator.next()]
    await idle()
    const left = iterator.return?.()
    expect(await Promise.all([...pending, left])).toMatchObject([{ done: true }, { done: true }, { done: true }])
    expect(reasons).toMatchObject([{ code: 'ABORTED' }])
    expect([await settled(run), leftovers()]).toEqual(['ABORTED', CLEAN])
  })

  test.each(['leaves', 'aborts'])(
    'or %s beside a deaf agent waits a second, and late events are dropped',
    async (how) => {
      const wake = Promise.withResolvers<void>()
      const late: string[] = []
      const agent = agentOf('a', async function* (ctx) {
        yield* say(ctx, 'one')
        await wake.promise
        late.push('awake')
        ctx.state.set('late', true)
        void ctx.emit('late', 1)
        yield toolStart
        late.push('effect')
      })
      const { run, begin, clock, controller, parts, spans, leftovers } = watched(agent)
      const iterator = await begin(5)
      const pending = iterator.next()
      await idle()
      const left = how === 'leaves' ? iterator.return?.() : controller.abort()
      if (how === 'leaves') expect(await pending).toMatchObject({ done: true })
      await clock.pass(999)
      expect(typesOf(parts)).not.toContain('run-end')
      await clock.pass(1)
      await Promise.all([left, pending])
      while (!(await iterator.next()).done);
      expect(await settled(run)).toBe('ABORTED')
      expect(typesOf(parts).slice(-2)).toEqual(['agent-end', 'run-end'])
      const before = [parts.length, spans.length]
      wake.resolve()
      await idle()
      expect([late, parts.length, spans.length, leftovers()]).toEqual([['awake'], ...before, CLEAN])
      expect(await iterator.next()).toMatchObject({ done: true })
      expect(spans).toEqual(['+run', '+agent', '-agent cancelled', '-run cancelled'])
    },
  )

  test.each([
    ['hangs', () => never],
    ['throws', boom],
  ])('is not held by a cleanup that %s', async (_, cleanup) => {
    const agent = agentOf('a', async function* (ctx) {
      try {
        yield* say(ctx, 'one')
      } finally {
        await cleanup()
      }
    })
    const { run, begin, clock, leftovers } = watched(agent)
    const left = (await begin(3)).return?.()
    await clock.pass(1_000)
    expect(await left).toMatchObject({ done: true })
    expect([await settled(run), leftovers()]).toEqual(['ABORTED', CLEAN])
  })

  test.each(['leaves', 'aborts'])(
    'or %s beside an agent that ends properly has all of its end on record',
    async (how) => {
      const usage = { inputTokens: 3, outputTokens: 4 }
      const message = { id: 'm', role: 'assistant', content: 'one' } as const
      const agent = agentOf('a', (ctx) =>
        stream(async (sink) => {
          await sink.write({ type: 'message-start', messageId: 'm' })
          await new Promise<void>((resolve) => ctx.signal.addEventListener('abort', () => resolve()))
          await sink.write({ type: 'message-end', message, usage, dropped: true })
          await sink.write({ type: 'tool-end', callId: 'c', messageId: 'n', name: 't', status: 'dropped', content: '' })
          ctx.state.set('k', 1)
          await sink.write({ type: 'text-delta', messageId: 'm', delta: 'nothing new' })
        }),
      )
      const { run, begin, controller, parts, leftovers } = watched(agent)
      const iterator = await begin(3)
      await idle()
      if (how === 'leaves') await iterator.return?.()
      else controller.abort()
      while (!(await iterator.next()).done);
      expect(await settled(run)).toBe('ABORTED')
      expect(typesOf(parts).slice(3)).toEqual(['message-end', 'tool-end', 'state-delta', 'agent-end', 'run-end'])
      expect([parts.at(-1), leftovers()]).toMatchObject([{ outcome: 'cancelled', usage }, CLEAN])
    },
  )

  test.each([
    ['that waited for it', true],
    ['that did not wait for it', false],
  ])('after its agent failed, one %s, has a failed run with that error', async (_, waits) => {
    const agent = quiet('a', async (ctx) => {
      for (const data of [1, 2, 3]) {
        const wait = ctx.emit('note', data)
        if (waits) await wait
      }
      throw new KernelError('MINE', 'mine: no')
    })
    const { run, begin, spans, leftovers } = watched(agent)
    const iterator = await begin(waits ? 5 : 3)
    await idle()
    await iterator.return?.()
    expect([await settled(run), spans.at(-1), leftovers()]).toEqual(['MINE', '-run ! MINE', CLEAN])
  })

  test('at a question has been asked and is cancelled', async () => {
    const agent = agentOf('a', async function* (ctx) {
      yield* say(ctx, String(await ctx.interrupt({ reason: 'input' })))
    })
    const parts: AgentEvent[] = []
    const onPart = (_: unknown, event: AgentEvent) => void parts.push(event)
    const run = startRun(agent, input, { canInterrupt: true, callbacks: [{ name: 'parts', run: { onPart } }] })
    for await (const { type } of run) {
      await idle()
      if (type === 'action') break
    }
    expect([await settled(run), typesOf(parts)]).toEqual([
      'ABORTED',
      ['run-start', 'agent-start', 'action', 'agent-end', 'run-end'],
    ])
    expect(parts.at(-2)).toMatchObject({ type: 'agent-end', outcome: 'cancelled' })
  })
})
