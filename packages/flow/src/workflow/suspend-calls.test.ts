import type { Agent, ToolMessage } from '@troupe/kernel'
import { describe, expect, test } from 'vitest'
import { asking, type RecordedRun, result, runToEnd, slow, talker, transferring } from '../flow.fixture.ts'
import { agentTool, agentWithOptions, loop, parallel, sequential, setSubAgents, supervisor } from '../index.ts'
import { scriptedAgent, transfer } from '../scripted-agent.fixture.ts'

/** An agent whose call stays open; with the result it says that it is done. */
const waiter = (name: string) => scriptedAgent(name, [[`slow-${name}`], `${name} is done.`], slow(`slow-${name}`))
const steps = (...agents: readonly Agent[]) => sequential({ name: 'steps', agents })
const all = (...agents: readonly Agent[]) => parallel({ name: 'all', agents })
const goOn = (agent: Agent, first: RecordedRun, ...results: readonly ToolMessage[]) =>
  runToEnd(agent, first.resume({}, ...results), { runId: `R${results.length}-${results[0]?.callId}` })

const places: readonly (readonly [string, () => Agent, readonly string[]])[] = [
  ['an agent alone', () => agentWithOptions(waiter('a'), {}), ['a']],
  ['a step', () => steps(talker('x'), waiter('a'), talker('y')), ['steps', 'steps/a', 'steps/y']],
  [
    'a round',
    () => loop({ name: 'rounds', agents: [talker('x'), waiter('a')], maxIterations: 1 }),
    ['rounds', 'rounds/a'],
  ],
  ['a branch', () => all(waiter('a'), talker('x')), ['all', 'all/a']],
  ['a branch, listed last', () => all(talker('x'), waiter('a')), ['all', 'all/a']],
  [
    'a transfer target, two deep',
    () => setSubAgents(transferring('lead', 'mid'), [setSubAgents(transferring('mid', 'a'), [waiter('a')])]),
    ['lead/mid/a'],
  ],
  [
    'a supervised agent',
    () => supervisor({ supervisor: scriptedAgent('lead', [transfer('a'), 'Done.']), agents: [waiter('a')] }),
    ['lead/a', 'lead/a/lead'],
  ],
  [
    'workflows in workflows',
    () =>
      steps(all(loop({ name: 'rounds', agents: [steps1(waiter('a'))], maxIterations: 1 }), talker('x')), talker('y')),
    ['steps', 'steps/all', 'steps/all/rounds', 'steps/all/rounds/one', 'steps/all/rounds/one/a', 'steps/y'],
  ],
  [
    'a workflow that is a transfer target',
    () => setSubAgents(transferring('lead', 'steps'), [steps(waiter('a'), talker('y'))]),
    ['lead/steps', 'lead/steps/a', 'lead/steps/y'],
  ],
]
const steps1 = (...agents: readonly Agent[]) => sequential({ name: 'one', agents })

describe('an open call', () => {
  test.each(places)('in %s: the run is complete, with the call open and a state to go on from', async (_, make) => {
    const { end, actions } = await runToEnd(make())
    expect(end).toMatchObject({ outcome: 'complete', openCallIds: ['slow-a'] })
    expect(end).not.toHaveProperty('interrupts')
    expect(actions.filter(({ type }) => type === 'interrupt')).toEqual([
      { type: 'interrupt', interrupts: [], state: expect.anything() },
    ])
  })

  test.each(places)(
    'in %s: its result goes to the agent that asked, and nothing is repeated',
    async (_, make, turns) => {
      const second = await goOn(make(), await runToEnd(make()), result('slow-a'))
      expect([second.turns, second.end?.outcome, second.errors]).toEqual([turns, 'complete', []])
      expect(second.said[0]).toBe('a: a is done.')
      expect(second.end?.openCallIds).toBeUndefined()
    },
  )

  test.each(places)('in %s: without its result it stays open', async (_, make) => {
    const second = await goOn(make(), await runToEnd(make()))
    expect([second.end?.outcome, second.said]).toEqual(['complete', []])
    expect(second.actions).toMatchObject([{ type: 'interrupt', interrupts: [] }])
    const third = await goOn(make(), second, result('slow-a'))
    expect(third.said[0]).toBe('a: a is done.')
  })

  test.each(places.filter(([place]) => !place.startsWith('a branch')))(
    'in %s: without its result it is reported as open again',
    async (_, make) => {
      expect((await goOn(make(), await runToEnd(make()))).end?.openCallIds).toEqual(['slow-a'])
    },
  )

  test('in a branch: without its result it is reported as open again', async () => {
    const make = () => all(waiter('a'), talker('x'))
    expect((await goOn(make(), await runToEnd(make()))).end?.openCallIds).toEqual(['slow-a'])
  })

  test('in a branch inside a branch goes on with its result, while another waits', async () => {
    const make = () => all(parallel({ name: 'inner', agents: [waiter('a'), waiter('b')] }), talker('x'))
    const second = await goOn(make(), await runToEnd(make()), result('slow-a'))
    expect([second.said, second.end?.openCallIds]).toEqual([['a: a is done.'], ['slow-b']])
  })

  test('in a tree is found without a state too: by the name of who asked', async () => {
    const make = () =>
      setSubAgents(transferring('lead', 'mid'), [setSubAgents(transferring('mid', 'a'), [waiter('a')])])
    const first = await runToEnd(make())
    const second = await runToEnd(make(), { messages: [...first.history, result('slow-a')] }, { runId: 'R2' })
    expect([second.turns, second.end?.text]).toEqual([['lead/mid/a'], 'a is done.'])
  })

  test('whose agent then transfers', async () => {
    const a = () => scriptedAgent('a', [['slow-a'], transfer('lead')], slow('slow-a'))
    const make = () => setSubAgents(scriptedAgent('lead', [transfer('a'), 'Back.']), [a()])
    const second = await goOn(make(), await runToEnd(make()), result('slow-a'))
    expect([second.turns, second.end?.text]).toEqual([['lead/a', 'lead/a/lead'], 'Back.'])
  })

  test('of two in one turn, results may come one by one', async () => {
    const make = () => steps(scriptedAgent('a', [['s1', 's2'], 'Done.'], slow('s1'), slow('s2')), talker('y'))
    const first = await runToEnd(make())
    expect(first.end?.openCallIds).toEqual(['s1', 's2'])
    const second = await goOn(make(), first, result('s2'))
    expect([second.end?.openCallIds, second.said]).toEqual([['s1'], []])
    const third = await goOn(make(), second, result('s1'))
    expect(third.said).toEqual(['a: Done.', 'y: I am y.'])
  })

  test('beside a question: both are reported, and either may come first', async () => {
    const make = () => steps(scriptedAgent('a', [['slow', 'ask'], 'Done.'], slow(), asking()), talker('y'))
    const first = await runToEnd(make())
    expect(first.end).toMatchObject({ outcome: 'interrupted', interrupts: [{ callId: 'ask' }], openCallIds: ['slow'] })
    const second = await runToEnd(make(), first.resume({ ask: 'yes' }), { runId: 'R2' })
    expect([second.end?.outcome, second.end?.openCallIds]).toEqual(['complete', ['slow']])
    expect((await goOn(make(), second, result('slow'))).end?.text).toBe('I am y.')
    const other = await goOn(make(), first, result('slow'))
    expect([other.end?.outcome, other.end?.interrupts]).toEqual(['interrupted', first.end?.interrupts])
    const last = await runToEnd(make(), other.resume({ ask: 'yes' }), { runId: 'R3' })
    expect(last.end?.text).toBe('I am y.')
  })

  test('inside an agent tool comes out as a question', async () => {
    const outer = () =>
      scriptedAgent('outer', [[{ name: 'a', args: { request: 'Go.' } }], 'Done.'], agentTool(waiter('a')))
    const make = () => steps(outer(), talker('y'))
    const first = await runToEnd(make())
    expect(first.end?.interrupts).toMatchObject([{ id: 'a/slow-a#result', reason: 'tool-result' }])
    const second = await runToEnd(make(), first.resume({ 'a/slow-a#result': 'Later.' }), { runId: 'R2' })
    expect(second.said).toEqual(['outer: a is done.', 'outer: Done.', 'y: I am y.'])
  })
})

describe('open calls of two branches', () => {
  const make = () => all(waiter('a'), talker('x'), waiter('b'))

  test('are both reported', async () => {
    expect((await runToEnd(make())).end?.openCallIds?.toSorted()).toEqual(['slow-a', 'slow-b'])
  })

  test('go on together', async () => {
    const second = await goOn(make(), await runToEnd(make()), result('slow-a'), result('slow-b'))
    expect(second.said.toSorted()).toEqual(['a: a is done.', 'b: b is done.'])
    expect([second.end?.outcome, second.end?.openCallIds]).toEqual(['complete', undefined])
  })

  test.each([
    ['a', 'b'],
    ['b', 'a'],
  ])('go on one by one: first %s', async (one, other) => {
    const second = await goOn(make(), await runToEnd(make()), result(`slow-${one}`))
    expect(second.said).toEqual([`${one}: ${one} is done.`])
    const third = await goOn(make(), second, result(`slow-${other}`))
    expect([third.turns, third.said]).toEqual([['all', `all/${other}`], [`${other}: ${other} is done.`]])
  })

  test('of which one goes on: the other is still reported as open', async () => {
    const first = await runToEnd(make())
    expect((await goOn(make(), first, result('slow-a'))).end?.openCallIds).toEqual(['slow-b'])
    expect((await goOn(make(), first, result('slow-b'))).end?.openCallIds).toEqual(['slow-a'])
  })

  test('of which one asks instead', async () => {
    const mixed = () => all(waiter('a'), scriptedAgent('b', [['ask'], 'b has heard.'], asking()))
    const first = await runToEnd(mixed())
    expect(first.end).toMatchObject({
      outcome: 'interrupted',
      interrupts: [{ callId: 'ask' }],
      openCallIds: ['slow-a'],
    })
    const answered = await runToEnd(mixed(), first.resume({ ask: 'yes' }), { runId: 'R2' })
    expect(answered.said).toEqual(['b: answered yes', 'b: b has heard.'])
    expect((await goOn(mixed(), answered, result('slow-a'))).said).toEqual(['a: a is done.'])
    const arrived = await goOn(mixed(), first, result('slow-a'))
    expect([arrived.said, arrived.end?.interrupts]).toEqual([['a: a is done.'], first.end?.interrupts])
  })
})
