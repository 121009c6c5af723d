import { beforeEach, describe, expect, test } from 'vitest'
import type { Agent } from '../index.ts'
import { say, stream } from '../index.ts'
import { startRun } from '../run.ts'
import { collect, noUnhandledRejection, raise } from '../stream/stream.fixture.ts'
import { agentOf, boom, CLEAN, countOf, getters, input, minefield, settled, typesOf, watched } from './run.fixture.ts'

beforeEach(noUnhandledRejection)

/** An agent that no compiler would let through. */
const rogue = (run: () => unknown) => ({ name: 'a', description: 'a', run }) as unknown as Agent

describe('an agent that misbehaves', () => {
  const circular: Record<string, unknown> = {}
  circular.self = circular
  const thrown = {
    undefined,
    null: null,
    zero: 0,
    'a string': 'broken',
    'a symbol': Symbol('x'),
    'a frozen object': Object.freeze({ code: 'X' }),
    'a circular object': circular,
    'throwing getters': getters(),
    'a minefield': minefield(),
    'an error with a hostile message': Object.defineProperty(new Error('x'), 'message', { get: boom }),
  }
  const ways: Record<string, (value: unknown) => Agent> = {
    'at once': (value) => rogue(() => raise(value)),
    'from next()': (value) => rogue(() => ({ [Symbol.asyncIterator]: () => ({ next: () => raise(value) }) })),
    'after its last word': (value) =>
      agentOf('a', async function* (ctx) {
        yield* say(ctx, 'last')
        raise(value)
      }),
  }
  const cases = Object.entries(thrown).flatMap(([what, value]) =>
    Object.entries(ways).map(([way, make]) => [what, way, make(value)] as const),
  )

  test.each(cases)('throwing %s %s fails with one plain error', async (_what, _way, agent) => {
    const { run, leftovers } = watched(agent)
    const events = await collect(run)
    expect(typesOf(events).slice(-3)).toEqual(['error', 'agent-end', 'run-end'])
    expect(countOf(typesOf(events), 'error')).toBe(1)
    const error = { code: expect.any(String), message: expect.any(String) }
    expect(events.at(-1)).toMatchObject({ outcome: 'failed', error })
    const shown = events.flatMap((event) => ('error' in event ? [event.error] : []))
    expect(shown).toEqual([shown[0], shown[0], shown[0]])
    expect([await settled(run), leftovers()]).toEqual([expect.not.stringContaining('foreign'), CLEAN])
    expect(JSON.parse(JSON.stringify(events))).toEqual(events)
  })

  const brackets = ['run-start', 'run-end', 'agent-start', 'agent-end']
  const names = [...brackets, 'text', '__proto__', 'constructor', 'toString', ['text-delta']]
  const garbage = [null, undefined, 5, 'text-delta', {}, [], ...names.map((type) => ({ type, outcome: 'complete' }))]
  const noStreams = [undefined, 5, {}, Promise.resolve(), { [Symbol.asyncIterator]: () => undefined }, minefield()]
  const broken = ['run-start', 'agent-start', 'error', 'agent-end', 'run-end']

  test.each(garbage.map((value, i) => [i, value]))(
    'yielding garbage (%i) is EVENT_INVALID, unseen',
    async (_, value) => {
      const { run, parts, leftovers } = watched(rogue(() => stream<unknown>(async (sink) => sink.write(value))))
      const events = await collect(run)
      expect([typesOf(events), parts, leftovers()]).toEqual([broken, events, CLEAN])
      expect(events.at(-1)).toMatchObject({ outcome: 'failed', error: { code: 'EVENT_INVALID' } })
    },
  )

  test.each(noStreams.map((value, i) => [i, value]))('returning no stream (%i) fails the run', async (_, value) => {
    const { run, leftovers } = watched(rogue(() => value))
    expect([typesOf(await collect(run)), leftovers()]).toEqual([broken, CLEAN])
  })

  test('an own error event counts as thrown, and nothing is shown after it', async () => {
    const agent = agentOf('a', async function* (ctx) {
      yield { type: 'error', error: { code: 'MINE', message: 'mine: no' } }
      yield* say(ctx, 'still here')
    })
    const run = startRun(agent, input)
    expect(typesOf(await collect(run))).toEqual(broken)
    for (let i = 0; i < 2; i++) await expect(run).rejects.toMatchObject({ code: 'MINE', message: 'mine: no' })
  })

  test.each([undefined, 5, {}, Promise.resolve()])('returning %s fails with what it should return', async (value) => {
    const message = expect.stringMatching(/^agent a: run\(\) must return an AsyncIterable of events, got /)
    await expect(
      startRun(
        rogue(() => value),
        input,
      ),
    ).rejects.toMatchObject({ code: 'AGENT_FAILED', message })
  })

  test.each([
    [{ type: 'text' }, 'got "text"'],
    ['text-delta', 'got "text-delta"'],
  ])('yielding %o fails with the list of events', async (value, what) => {
    const message = new RegExp(`^event: the type must be one of run-start, .*, run-end, ${what}$`)
    const run = startRun(
      rogue(() => stream<unknown>(async (sink) => sink.write(value))),
      input,
    )
    await expect(run).rejects.toMatchObject({ message: expect.stringMatching(message) })
  })
})
