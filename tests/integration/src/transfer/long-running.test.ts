import { loop, parallel, setSubAgents } from '@troupe/flow'
import { describe, expect, test } from 'vitest'
import { unanswered } from './history-faults.fixture.ts'
import { LAYOUTS, workerIn } from './layouts.fixture.ts'
import { ANN, brief, calling, scriptedTree, settled, toAgent } from './scripted-tree.fixture.ts'
import { asks, guarded, plain, slow } from './tools.fixture.ts'

const layouts = Object.keys(LAYOUTS).filter((layout) => layout !== 'a tool')

describe.each(layouts)('in %s', (layout) => {
  test('the result goes to the agent that asked, elsewhere, and everything goes on', async () => {
    const log: string[] = []
    const { tree, last } = workerIn(layout, [calling('slow', 'plain'), 'Worked.'], { tools: [slow(), plain(log)] })
    const first = await tree.ask('Go')
    const { openCalls = [] } = (await tree.thread()) ?? {}
    expect(openCalls).toMatchObject([{ name: 'slow', agentName: 'Worker' }])
    const ids = openCalls.map(({ callId }) => callId)
    expect([first.outcome, first.open, first.interrupts]).toEqual(['complete', ids, []])
    await tree.move()
    const second = await tree.results({ slow: 'At last.' })
    expect([second.outcome, second.text, second.started, log]).toEqual([
      'complete',
      last ?? 'Worked.',
      last === undefined ? [] : second.started,
      ['plain'],
    ])
    expect(brief(tree.models.Worker.requests[1]?.messages).slice(-3)).toEqual([
      'assistant slow({}) plain({})',
      'tool slow: At last.',
      'tool plain: plain ran',
    ])
    expect(unanswered(await tree.history())).toEqual([])
    expect((await tree.thread())?.openCalls).toEqual([])
  })

  test('results come one by one: the model is asked when all are there', async () => {
    const { tree, last } = workerIn(layout, [calling('one', 'two'), 'Worked.'], { tools: [slow('one'), slow('two')] })
    await tree.ask('Go')
    expect(await tree.awaited()).toEqual(['one', 'two'])
    await tree.move()
    const second = await tree.results({ two: 'Second.' })
    expect([second.outcome, await tree.awaited()]).toEqual(['complete', ['one']])
    expect(tree.models.Worker.requests).toHaveLength(1)
    await tree.move()
    const third = await tree.results({ one: 'First.' })
    expect([third.outcome, third.text]).toEqual(['complete', last ?? 'Worked.'])
    expect(brief(tree.models.Worker.requests[1]?.messages).slice(-2)).toEqual(['tool one: First.', 'tool two: Second.'])
  })

  test('beside a question: the answer first or the result first, it comes to the same', async () => {
    for (const answerFirst of [true, false]) {
      const { tree, last } = workerIn(layout, [calling('slow', 'asks'), 'Worked.'], { tools: [slow(), asks()] })
      const first = await tree.ask('Go')
      expect([first.outcome, first.interrupts.length]).toEqual(['interrupted', 1])
      const steps = [() => tree.answerAll('yes'), () => tree.results({ slow: 'At last.' })]
      let recorded = first
      for (const step of answerFirst ? steps : steps.toReversed()) {
        await tree.move()
        recorded = await step()
      }
      expect([recorded.outcome, recorded.text]).toEqual(['complete', last ?? 'Worked.'])
      expect(brief(tree.models.Worker.requests[1]?.messages).slice(-2)).toEqual([
        'tool slow: At last.',
        'tool asks: heard yes',
      ])
    }
  })

  test('beside an approval that is refused', async () => {
    const log: string[] = []
    const { tree, last } = workerIn(layout, [calling('guarded', 'slow'), 'Worked.'], { tools: [slow(), guarded(log)] })
    await tree.ask('Go')
    await tree.move()
    await tree.answerAll({ approved: false })
    expect(await tree.awaited()).toEqual(['slow'])
    await tree.move()
    expect((await tree.results({ slow: 'At last.' })).text).toBe(last ?? 'Worked.')
    expect(log).toEqual([])
  })

  test('another long-running call in the next turn', async () => {
    const again = calling({ id: 'slow', name: 'slow' })
    const { tree, last } = workerIn(layout, [calling('slow'), again, 'Worked.'], { tools: [slow()] })
    await tree.ask('Go')
    await tree.move()
    await tree.results({ slow: 'One.' })
    expect(await tree.awaited()).toEqual(['slow'])
    await tree.move()
    expect((await tree.results({ slow: 'Two.' })).text).toBe(last ?? 'Worked.')
    const results = tree.models.Worker.requests[2]?.messages.filter(({ role }) => role === 'tool')
    expect(results?.map(({ content }) => content)).toEqual(['One.', 'Two.'])
  })

  test('a user message instead is refused and changes nothing', async () => {
    const { tree } = workerIn(layout, [calling('slow'), 'Worked.'], { tools: [slow()] })
    await tree.ask('Go')
    const before = JSON.stringify([await tree.thread(), await tree.history()])
    expect(await settled(tree.runner.query('Well?', { session: ANN }))).toBe('PENDING_TOOL_CALLS')
    expect(JSON.stringify([await tree.thread(), await tree.history()])).toBe(before)
  })
})

test('in a tool it comes out as a question of reason tool-result, whose answer is the result', async () => {
  const { tree, last } = workerIn('a tool', [calling('slow', 'two'), 'Worked.'], { tools: [slow(), slow('two')] })
  const first = await tree.ask('Go')
  expect([first.outcome, first.open]).toEqual(['interrupted', []])
  expect(first.interrupts).toMatchObject([
    { reason: 'tool-result', agentName: 'Worker', callId: 'ask-Worker', metadata: { tool: 'slow' } },
    { reason: 'tool-result', metadata: { tool: 'two' } },
  ])
  const [one = '', two = ''] = first.interrupts.map(({ id }) => id)
  await tree.move()
  const second = await tree.answer({ [two]: 'Second.' })
  expect(second.interrupts.map(({ id }) => id)).toEqual([one])
  await tree.move()
  expect((await tree.answer({ [one]: { found: 1 } })).text).toBe(last)
  expect(brief(tree.models.Worker.requests[1]?.messages).slice(-2)).toEqual([
    'tool slow: {"found":1}',
    'tool two: Second.',
  ])
})

describe('who goes on', () => {
  const branches = () =>
    scriptedTree(
      { A: [calling('one'), 'A done.', 'A again.'], B: [calling('two'), 'B done.', 'B again.'], C: ['C.', 'C again.'] },
      ({ A, B, C }) =>
        loop({ name: 'Rounds', maxIterations: 2, agents: [parallel({ name: 'Both', agents: [A, B] }), C] }),
      { with: { A: { tools: [slow('one')] }, B: { tools: [slow('two')] } } },
    )

  test('branches that wait go on as their results come, and the step after them when all are done', async () => {
    const tree = branches()
    await tree.ask('Go')
    expect(await tree.awaited()).toEqual(['one', 'two'])
    await tree.move()
    const second = await tree.results({ two: 'Two.' })
    expect([second.outcome, await tree.awaited()]).toEqual(['complete', ['one']])
    expect([tree.models.B.requests.length, tree.models.C.requests.length]).toEqual([2, 0])
    await tree.move()
    const third = await tree.results({ one: 'One.' })
    expect([third.outcome, third.text, tree.models.B.requests.length]).toEqual(['complete', 'C again.', 3])
  })

  test('the result of a branch is its own for those after it, in the run in which it comes', async () => {
    const tree = branches()
    await tree.ask('Go')
    await tree.results({ two: 'Two.' })
    await tree.results({ one: 'One.' })
    const seen = brief(tree.models.C.requests[0]?.messages)
    expect(seen).toContain('user For context: [B] `two` tool returned result: Two..')
    expect(seen).toContain('user For context: [A] `one` tool returned result: One..')
  })

  test('a branch that runs again in that run has its own call with its own result', async () => {
    const tree = branches()
    await tree.ask('Go')
    await tree.results({ two: 'Two.' })
    await tree.results({ one: 'One.' })
    expect(brief(tree.models.A.requests[2]?.messages).slice(1, 3)).toEqual(['assistant one({})', 'tool one: One.'])
  })

  test('after the result a normal question goes to the root, and the child can have it again', async () => {
    const tree = scriptedTree(
      { Router: [toAgent('A'), toAgent('A')], A: [calling('slow'), 'Found.', 'Still here.'] },
      ({ Router, A }) => setSubAgents(Router, [A]),
      { with: { A: { tools: [slow()] } } },
    )
    await tree.ask('Find')
    await tree.move()
    const second = await tree.results({ slow: 'It.' })
    expect([second.text, second.turns]).toEqual(['Found.', ['Router/A']])
    await tree.move()
    const third = await tree.ask('And?')
    expect([third.text, third.turns]).toEqual(['Still here.', ['Router', 'Router/A']])
    expect(brief(tree.models.Router.requests[1]?.messages).slice(3)).toEqual([
      'user For context: [A] called tool: `slow` with arguments: {}.',
      'user For context: [A] `slow` tool returned result: It..',
      'user For context: [A] said: Found..',
      'user And?',
    ])
  })

  test('a result and a question in one input: the child that asked gets both', async () => {
    const tree = scriptedTree(
      { Router: [toAgent('A'), 'Router.'], A: [calling('slow'), 'Found.'] },
      ({ Router, A }) => setSubAgents(Router, [A]),
      { with: { A: { tools: [slow()] } } },
    )
    await tree.ask('Find')
    const recorded = await tree.give(
      { id: 'q', role: 'user', content: 'Hurry.' },
      { id: 'r', role: 'tool', callId: 'slow', name: 'slow', content: 'It.' },
    )
    expect([recorded.text, recorded.turns]).toEqual(['Found.', ['Router/A']])
    expect(brief(tree.models.A.requests[1]?.messages).slice(-3)).toEqual([
      'assistant slow({})',
      'tool slow: It.',
      'user Hurry.',
    ])
  })
})
