import { setSubAgents } from '@troupe/flow'
import type { AgentHandler } from '@troupe/kernel'
import { describe, expect, test } from 'vitest'
import { LAYOUTS, workerIn } from './layouts.fixture.ts'
import { brief, calling, scriptedTree, toAgent, transferTo } from './scripted-tree.fixture.ts'
import { asks, guarded, plain } from './tools.fixture.ts'

const layouts = Object.keys(LAYOUTS)
const turns = [calling({ id: 'g', name: 'guarded', arguments: { n: 1 } }, { id: 'p', name: 'plain' }), 'Worked.']
const given = (log: string[]) => ({ tools: [guarded(log), plain(log)] })
const lastOf = (last: string | undefined) => last ?? 'Worked.'

test.each(layouts)('%s: approved elsewhere, the call runs once and its sibling not again', async (layout) => {
  const log: string[] = []
  const { tree, last } = workerIn(layout, turns, given(log))
  const first = await tree.ask('Go')
  expect([first.outcome, log]).toEqual(['interrupted', ['plain']])
  expect(first.interrupts).toMatchObject([
    { reason: 'approval', agentName: 'Worker', metadata: { tool: 'guarded', arguments: '{"n":1}' } },
  ])
  await tree.move()
  const second = await tree.answerAll({ approved: true })
  expect([second.outcome, second.text, log]).toEqual(['complete', lastOf(last), ['plain', 'guarded {"n":1}']])
  expect(brief(tree.models.Worker.requests[1]?.messages).slice(-3)).toEqual([
    'assistant guarded({"n":1}) plain({})',
    'tool guarded: guarded ran',
    'tool plain: plain ran',
  ])
  expect(tree.models.Worker.requests).toHaveLength(2)
})

test.each(layouts)('%s: refused, the model gets the reason and the call does not run', async (layout) => {
  const log: string[] = []
  const { tree, last } = workerIn(layout, turns, given(log))
  await tree.ask('Go')
  await tree.move()
  const second = await tree.answerAll({ approved: false, message: 'Too dear.' })
  expect([second.outcome, second.text, log]).toEqual(['complete', lastOf(last), ['plain']])
  expect(brief(tree.models.Worker.requests[1]?.messages).slice(-2)).toEqual([
    'tool guarded: Too dear.',
    'tool plain: plain ran',
  ])
})

test.each(layouts)('%s: edited, the call runs with what the person wrote', async (layout) => {
  const log: string[] = []
  const { tree } = workerIn(layout, turns, given(log))
  await tree.ask('Go')
  await tree.move()
  await tree.answerAll({ approved: true, arguments: '{"n":2}' })
  expect(log).toEqual(['plain', 'guarded {"n":2}'])
})

test.each(layouts)(
  '%s: several calls are answered one by one, in whatever process, and run once each',
  async (layout) => {
    const log: string[] = []
    const calls = calling(
      { id: 'g1', name: 'guarded', arguments: { n: 1 } },
      { id: 'p', name: 'plain' },
      { id: 'g2', name: 'guarded', arguments: { n: 2 } },
      { id: 'g3', name: 'guarded', arguments: { n: 3 } },
    )
    const { tree, last } = workerIn(layout, [calls, 'Worked.'], given(log))
    const first = await tree.ask('Go')
    const [one = '', two = '', three = ''] = first.interrupts.map(({ id }) => id)
    await tree.move()
    const second = await tree.answer({ [two]: { approved: true } })
    expect([second.outcome, second.interrupts.map(({ id }) => id)]).toEqual(['interrupted', [one, three]])
    await tree.move()
    const third = await tree.answer({ [three]: { approved: false } })
    expect([third.outcome, third.interrupts.map(({ id }) => id)]).toEqual(['interrupted', [one]])
    await tree.move()
    const fourth = await tree.answer({ [one]: { approved: true } })
    expect([fourth.text, log]).toEqual([lastOf(last), ['plain', 'guarded {"n":2}', 'guarded {"n":1}']])
    expect(brief(tree.models.Worker.requests[1]?.messages).slice(-4)).toEqual([
      'tool guarded: guarded ran',
      'tool plain: plain ran',
      'tool guarded: guarded ran',
      'tool guarded: The user refused this call.',
    ])
  },
)

test.each(layouts)('%s: a tool that asks runs again from its start under the same key', async (layout) => {
  const keys: string[] = []
  const { tree, last } = workerIn(layout, [calling('asks'), 'Worked.'], { tools: [asks('asks', keys)] })
  const first = await tree.ask('Go')
  expect(first.interrupts).toMatchObject([{ reason: 'input', message: 'asks?', agentName: 'Worker' }])
  await tree.move()
  const second = await tree.answerAll('yes')
  expect(second.text).toBe(lastOf(last))
  expect([keys.length, new Set(keys).size]).toEqual([2, 1])
  expect(brief(tree.models.Worker.requests[1]?.messages).at(-1)).toBe('tool asks: heard yes')
})

test.each(layouts)('%s: asked again in the next turn, the second question has an id of its own', async (layout) => {
  const log: string[] = []
  const again = calling({ id: 'g', name: 'guarded', arguments: { n: 2 } })
  const { tree, last } = workerIn(layout, [...turns.slice(0, 1), again, 'Worked.'], given(log))
  const first = await tree.ask('Go')
  await tree.move()
  const second = await tree.answerAll({ approved: true })
  expect(second.outcome).toBe('interrupted')
  expect(second.interrupts[0]?.id).not.toBe(first.interrupts[0]?.id)
  await tree.move()
  const third = await tree.answerAll({ approved: true })
  expect([third.text, log]).toEqual([lastOf(last), ['plain', 'guarded {"n":1}', 'guarded {"n":2}']])
})

test.each(layouts)(
  '%s: a user message instead of an answer drops the question, and the run goes on',
  async (layout) => {
    const log: string[] = []
    const { tree } = workerIn(layout, turns, given(log))
    await tree.ask('Go')
    const run = tree.runner.query('Wait', { session: { app: 'test', user: 'ann', threadId: 't' } })
    await expect(Promise.resolve(run)).rejects.toMatchObject({ code: 'PENDING_TOOL_CALLS' })
    expect((await tree.answerAll({ approved: true })).outcome).toBe('complete')
  },
)

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
  const makeTree = (turn: ReturnType<typeof calling>) =>
    scriptedTree(
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

  test('a transfer: approved, refused, or to another agent', async () => {
    const expected = [
      [{ approved: true }, 'I am A.', 1],
      [{ approved: false }, 'Then I do it.', 2],
      [{ approved: true, arguments: '{"agent_name":"B"}' }, 'I am B.', 1],
    ] as const
    for (const [answer, text, asked] of expected) {
      const tree = makeTree(toAgent('A'))
      expect((await tree.ask('Go')).interrupts).toMatchObject([{ metadata: { tool: 'transfer_to_agent' } }])
      await tree.move()
      expect([(await tree.answerAll(answer)).text, tree.models.Router.requests.length]).toEqual([text, asked])
    }
  })

  test('an exit, beside a transfer: what was not refused is done, exit first', async () => {
    const exit = { id: 'exit', name: 'exit', arguments: { final_result: 'Bye.' } }
    for (const [approved, text] of [
      [true, 'Bye.'],
      [false, 'I am A.'],
    ] as const) {
      const tree = makeTree(calling(exit, { ...transferTo('A'), id: 'to' }))
      const ids = (await tree.ask('Go')).interrupts.map(({ id }) => id)
      const [ofExit = '', ofTransfer = ''] = ids
      await tree.move()
      expect((await tree.answer({ [ofExit]: { approved } })).interrupts).toHaveLength(1)
      await tree.move()
      expect((await tree.answer({ [ofTransfer]: { approved: true } })).text).toBe(text)
    }
  })

  test('a direct result: approved it is the last, refused the model goes on', async () => {
    for (const [approved, text] of [
      [true, 'guarded ran'],
      [false, 'Then I do it.'],
    ] as const) {
      const tree = makeTree(calling('guarded'))
      await tree.ask('Go')
      await tree.move()
      expect((await tree.answerAll({ approved })).text).toBe(text)
    }
  })
})
