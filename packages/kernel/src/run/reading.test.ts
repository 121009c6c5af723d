import { beforeEach, describe, expect, test } from 'vitest'
import type { EventDraft, RunContext } from '../index.ts'
import { say, stream } from '../index.ts'
import { pipe } from '../kit.ts'
import { startRun } from '../run.ts'
import { collect, idle, noUnhandledRejection } from '../stream/stream.fixture.ts'
import { action, agentOf, CLEAN, input, talker, toolStart, watched } from './run.fixture.ts'

beforeEach(noUnhandledRejection)

describe('reading a run', () => {
  test('to its end leaves nothing for a context that is used too late', async () => {
    const leaked: RunContext[] = []
    const { begin, parts, leftovers } = watched(agentOf('a', (ctx) => say(leaked[leaked.push(ctx) - 1] ?? ctx, 'one')))
    const iterator = await begin(0)
    while (!(await iterator.next()).done);
    for (const ctx of leaked) void ctx.emit('late', 1)
    for (const ctx of leaked) ctx.state.set('late', 1)
    await idle()
    expect([leaked.length, parts.length, await iterator.next()]).toMatchObject([1, 7, { done: true }])
    expect(leftovers()).toEqual(CLEAN)
  })

  const agent = agentOf('a', async function* (ctx) {
    yield* say(ctx, 'one')
    yield toolStart
    yield action
    yield* say(ctx, 'two')
  })

  test.each([
    [toolStart, false],
    [action, false],
    [toolStart, true],
    [action, true],
  ])('lets a gated write through only when the consumer is back (%#)', async (gated, changes) => {
    let passed = false
    const gatedAgent = agentOf('a', (ctx) =>
      stream<EventDraft>(async (sink) => {
        if (changes) ctx.state.set('k', 1)
        await sink.write(gated)
        passed = true
      }),
    )
    const iterator = await watched(gatedAgent).begin(changes ? 3 : 2)
    expect((await iterator.next()).value).toMatchObject({ type: gated.type })
    await idle()
    expect(passed).toBe(false)
    await iterator.next()
    expect(passed).toBe(true)
  })

  test('with many next() at once answers them in order and then with done', async () => {
    const all = await collect(startRun(agent, input, { runId: 'R' }))
    const { begin, leftovers } = watched(agent)
    const iterator = await begin(0)
    const results = await Promise.all(Array.from({ length: all.length + 2 }, () => iterator.next()))
    expect(results.slice(0, -2).map(({ value }) => value)).toEqual(all)
    expect(results.slice(-2)).toMatchObject([{ done: true }, { done: true }])
    expect(leftovers()).toEqual(CLEAN)
  })

  test('goes together with awaiting it, as often as one likes, but is there once', async () => {
    const { run, begin } = watched(agent)
    const iterator = await begin(1)
    const results = Promise.all([run, run, run.then()])
    const rest = await collect({ [Symbol.asyncIterator]: () => iterator })
    expect([rest[0]?.type, rest.at(-1)?.type]).toEqual(['agent-start', 'run-end'])
    const [one, ...others] = await results
    expect([one, others]).toMatchObject([{ outcome: 'complete', text: 'two' }, [one, one]])
    const awaited = startRun(agent, input)
    await awaited
    for (const read of [run, awaited]) await expect(collect(read)).rejects.toMatchObject({ code: 'STREAM_CONSUMED' })
    expect(await awaited).toMatchObject({ outcome: 'complete', text: 'two' })
  })

  test('by pipe begins when its first event was taken, and is done when its last one was, taken or refused', async () => {
    for (const end of ['taken', 'refused']) {
      const seen: string[] = []
      const gates = { 'run-start': Promise.withResolvers<void>(), 'run-end': Promise.withResolvers<void>() }
      let done = false
      const piped = pipe(startRun(talker('a'), input), {
        write({ type }) {
          seen.push(type)
          return type === 'run-start' || type === 'run-end' ? gates[type].promise : undefined
        },
      }).then(() => {
        done = true
      })
      await idle()
      expect(seen).toEqual(['run-start'])
      gates['run-start'].resolve()
      await idle()
      expect([seen.at(-1), done]).toEqual(['run-end', false])
      if (end === 'taken') gates['run-end'].resolve()
      else gates['run-end'].reject(new Error('full'))
      await piped
    }
  })
})
