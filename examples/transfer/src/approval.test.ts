import { setSubAgents } from '@troupe/flow'
import type { AgentHandler } from '@troupe/kernel'
import { describe, expect, test } from 'vitest'
import { at, PLACES } from './places.fixture.ts'
import { brief, calling, theatre, toAgent, transferTo } from './theatre.fixture.ts'
import { asks, guarded, plain } from './tools.fixture.ts'

const places = Object.keys(PLACES)
const turns = [calling({ id: 'g', name: 'guarded', arguments: { n: 1 } }, { id: 'p', name: 'plain' }), 'Worked.']
const given = (log: string[]) => ({ tools: [guarded(log), plain(log)] })
const lastOf = (last: string | undefined) => last ?? 'Worked.'

test.each(places)('%s: approved elsewhere, the call runs once and its sibling not again', async (place) => {
  const log: string[] = []
  const { stage, last } = at(place, turns, given(log))
  const first = await stage.ask('Go')
  expect([first.outcome, log]).toEqual(['interrupted', ['plain']])
  expect(first.interrupts).toMatchObject([
    { reason: 'approval', agentName: 'Worker', metadata: { tool: 'guarded', arguments: '{"n":1}' } },
  ])
  await stage.move()
  const second = await stage.answerAll({ approved: true })
  expect([second.outcome, second.text, log]).toEqual(['complete', lastOf(last), ['plain', 'guarded {"n":1}']])
  expect(brief(stage.models.Worker.requests[1]?.messages).slice(-3)).toEqual([
    'assistant guarded({"n":1}) plain({})',
    'tool guarded: guarded ran',
    'tool plain: plain ran',
  ])
  expect(stage.models.Worker.requests).toHaveLength(2)
})

test.each(places)('%s: refused, the model is told why and the call does not run', async (place) => {
  const log: string[] = []
  const { stage, last } = at(place, turns, given(log))
  await stage.ask('Go')
  await stage.move()
  const second = await stage.answerAll({ approved: false, message: 'Too dear.' })
  expect([second.outcome, second.text, log]).toEqual(['complete', lastOf(last), ['plain']])
  expect(brief(stage.models.Worker.requests[1]?.messages).slice(-2)).toEqual([
    'tool guarded: Too dear.',
    'tool plain: plain ran',
  ])
})

test.each(places)('%s: edited, the call runs with what the person wrote', async (place) => {
  const log: string[] = []
  const { stage } = at(place, turns, given(log))
  await stage.ask('Go')
  await stage.move()
  await stage.answerAll({ approved: true, arguments: '{"n":2}' })
  expect(log).toEqual(['plain', 'guarded {"n":2}'])
})

test.each(places)(
  '%s: several calls are answered one by one, in whatever process, and run once each',
  async (place) => {
    const log: string[] = []
    const calls = calling(
      { id: 'g1', name: 'guarded', arguments: { n: 1 } },
      { id: 'p', name: 'plain' },
      { id: 'g2', name: 'guarded', arguments: { n: 2 } },
      { id: 'g3', name: 'guarded', arguments: { n: 3 } },
    )
    const { stage, last } = at(place, [calls, 'Worked.'], given(log))
    const first = await stage.ask('Go')
    const [one = '', two = '', three = ''] = first.interrupts.map(({ id }) => id)
    await stage.move()
    const second = await stage.answer({ [two]: { approved: true } })
    expect([second.outcome, second.interrupts.map(({ id }) => id)]).toEqual(['interrupted', [one, three]])
    await stage.move()
    const third = await stage.answer({ [three]: { approved: false } })
    expect([third.outcome, third.interrupts.map(({ id }) => id)]).toEqual(['interrupted', [one]])
    await stage.move()
    const fourth = await stage.answer({ [one]: { approved: true } })
    expect([fourth.text, log]).toEqual([lastOf(last), ['plain', 'guarded {"n":2}', 'guarded {"n":1}']])
    expect(brief(stage.models.Worker.requests[1]?.messages).slice(-4)).toEqual([
      'tool guarded: guarded ran',
      'tool plain: plain ran',
      'tool guarded: guarded ran',
      'tool guarded: The user refused this call.',
    ])
  },
)

test.each(places)('%s: a tool that asks runs again from its start under the same key', async (place) => {
  const keys: string[] = []
  const { stage, last } = at(place, [calling('asks'), 'Worked.'], { tools: [asks('asks', keys)] })
  const first = await stage.ask('Go')
  expect(first.interrupts).toMatchObject([{ reason: 'input', message: 'asks?', agentName: 'Worker' }])
  await stage.move()
  const second = await stage.answerAll('yes')
  expect(second.text).toBe(lastOf(last))
  expect([keys.length, new Set(keys).size]).toEqual([2, 1])
  expect(brief(stage.models.Worker.requests[1]?.messages).at(-1)).toBe('tool asks: heard yes')
})

test.each(places)('%s: asked again in the next turn, the second question has an id of its own', async (place) => {
  const log: string[] = []
  const again = calling({ id: 'g', name: 'guarded', arguments: { n: 2 } })
  const { stage, last } = at(place, [...turns.slice(0, 1), again, 'Worked.'], given(log))
  const first = await stage.ask('Go')
  await stage.move()
  const second = await stage.answerAll({ approved: true })
  expect(second.outcome).toBe('interrupted')
  expect(second.interrupts[0]?.id).not.toBe(first.interrupts[0]?.id)
  await stage.move()
  const third = await stage.answerAll({ approved: true })
  expect([third.text, log]).toEqual([lastOf(last), ['plain', 'guarded {"n":1}', 'guarded {"n":2}']])
})

test.each(places)('%s: a user who speaks instead drops the question, and everything goes on', async (place) => {
  const log: string[] = []
  const { stage } = at(place, turns, given(log))
  await stage.ask('Go')
  const run = stage.runner.query('Wait', { session: { app: 'test', user: 'ann', threadId: 't' } })
  await expect(Promise.resolve(run)).rejects.toMatchObject({ code: 'PENDING_TOOL_CALLS' })
  expect((await stage.answerAll({ approved: true })).outcome).toBe('complete')
})

describe('what may be guarded', () => {
  /** Asks a person before the tools of these names. */
  const guard = (...names: readonly string[]): AgentHandler => ({
    name: 'guard',
    beforeAgent(_, config) {
      config.tools = config.tools.map(({ tool, returnDirectly }) =>
        names.includes(tool.name)
          ? { tool: { ...tool, needsApproval: () => true }, returnDirectly }
          : { tool, returnDirectly },
      )
    },
  })
  const play = (turn: ReturnType<typeof calling>) =>
    theatre(
      { Router: [turn, 'Then I do it.'], A: ['I am A.'], B: ['I am B.'] },
      ({ Router, A, B }) => setSubAgents(Router, [A, B]),
      {
        with: {
          Router: {
            exit: true,
            handlers: [guard('transfer_to_agent', 'exit')],
            tools: [{ tool: guarded([]), returnDirectly: true }],
          },
        },
      },
    )

  test('a transfer: approved, refused, or to somebody else', async () => {
    const expected = [
      [{ approved: true }, 'I am A.', 1],
      [{ approved: false }, 'Then I do it.', 2],
      [{ approved: true, arguments: '{"agent_name":"B"}' }, 'I am B.', 1],
    ] as const
    for (const [answer, text, asked] of expected) {
      const stage = play(toAgent('A'))
      expect((await stage.ask('Go')).interrupts).toMatchObject([{ metadata: { tool: 'transfer_to_agent' } }])
      await stage.move()
      expect([(await stage.answerAll(answer)).text, stage.models.Router.requests.length]).toEqual([text, asked])
    }
  })

  test('an exit, beside a transfer: what was not refused is done, exit first', async () => {
    const exit = { id: 'exit', name: 'exit', arguments: { final_result: 'Bye.' } }
    for (const [approved, text] of [
      [true, 'Bye.'],
      [false, 'I am A.'],
    ] as const) {
      const stage = play(calling(exit, { ...transferTo('A'), id: 'to' }))
      const ids = (await stage.ask('Go')).interrupts.map(({ id }) => id)
      const [ofExit = '', ofTransfer = ''] = ids
      await stage.move()
      expect((await stage.answer({ [ofExit]: { approved } })).interrupts).toHaveLength(1)
      await stage.move()
      expect((await stage.answer({ [ofTransfer]: { approved: true } })).text).toBe(text)
    }
  })

  test('a direct result: approved it is the last, refused the model goes on', async () => {
    for (const [approved, text] of [
      [true, 'guarded ran'],
      [false, 'Then I do it.'],
    ] as const) {
      const stage = play(calling('guarded'))
      await stage.ask('Go')
      await stage.move()
      expect((await stage.answerAll({ approved })).text).toBe(text)
    }
  })
})
