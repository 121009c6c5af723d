import { type Agent, type Answers, KernelError, say } from '@troupe/kernel'
import { describe, expect, test } from 'vitest'
import { agentOf, asking, failing, quiet, type RecordedRun, runToEnd, talker, textsOf, tool } from '../flow.fixture.ts'
import { loop, parallel, sequential, setSubAgents } from '../index.ts'
import { scriptedAgent, transfer } from '../scripted-agent.fixture.ts'

const mine = new KernelError('MINE', 'mine: no')
const asker = (name: string, ...then: Parameters<typeof scriptedAgent>[1]) =>
  scriptedAgent(name, [[`ask-${name}`], ...(then.length > 0 ? then : [`${name} has heard.`])], asking(`ask-${name}`))
const both = (onError: 'stop' | 'continue', ...agents: readonly Agent[]) => parallel({ name: 'all', agents, onError })
const goOn = (agent: Agent, first: RecordedRun, answers: Answers, runId = 'R2') =>
  runToEnd(agent, first.resume(answers), { runId })
/** The calls that ask. */
const asked = ({ end }: RecordedRun) => end?.interrupts?.map(({ callId }) => callId)
const idsOf = ({ end }: RecordedRun) => end?.interrupts?.map(({ id }) => id)

describe('a branch that asks', () => {
  test('lets the others finish; they do not run again', async () => {
    const make = () => both('stop', talker('x'), asker('a'), scriptedAgent('y', [['t'], 'Y.'], tool('t')))
    const first = await runToEnd(make())
    expect([first.end?.outcome, asked(first)]).toEqual(['interrupted', ['ask-a']])
    expect(first.said).toEqual(expect.arrayContaining(['x: I am x.', 'y: Y.']))
    const second = await goOn(make(), first, { 'ask-a': 'yes' })
    expect(second.turns).toEqual(['all', 'all/a'])
    expect(second.said).toEqual(['a: answered yes', 'a: a has heard.'])
    expect(second.end?.outcome).toBe('complete')
  })

  test('sees the shared history and its own messages when it continues, not what the others said meanwhile', async () => {
    const a = asker('a')
    const make = () => sequential({ name: 'steps', agents: [talker('before'), both('stop', talker('x'), a)] })
    await goOn(make(), await runToEnd(make()), { 'ask-a': 'yes' })
    expect(textsOf(a.inputs[1]?.messages ?? [])).toEqual([
      'user: Hello',
      'user: For context: [before] said: I am before..',
      'a: ask-a({})',
    ])
  })

  test('what was said in both runs is joined; the step after it sees all of it, each branch together', async () => {
    const after = scriptedAgent('after', ['Done.'])
    const make = () => sequential({ name: 'steps', agents: [both('stop', asker('a'), talker('x')), after] })
    await goOn(make(), await runToEnd(make()), { 'ask-a': 'yes' })
    const seen = textsOf(after.inputs[0]?.messages ?? [])
    expect(seen.slice(1).toSorted()).toEqual([
      'user: For context: [a] `ask-a` tool returned result: answered yes.',
      'user: For context: [a] called tool: `ask-a` with arguments: {}.',
      'user: For context: [a] said: a has heard..',
      'user: For context: [x] said: I am x..',
    ])
  })

  test('keeps an exit of another branch until it is done', async () => {
    const exit = agentOf('x', async function* () {
      yield { type: 'action', action: { type: 'exit', result: 'X' } }
    })
    const make = () => sequential({ name: 'steps', agents: [both('stop', exit, asker('a')), talker('never')] })
    const first = await runToEnd(make())
    expect(first.end?.outcome).toBe('interrupted')
    const second = await goOn(make(), first, { 'ask-a': 'yes' })
    expect([second.end?.outcome, second.end?.output, second.turns]).toEqual([
      'complete',
      'X',
      ['steps', 'steps/all', 'steps/all/a'],
    ])
  })

  test('beside a failing one: stop fails, continue asks', async () => {
    const stopped = await runToEnd(both('stop', asker('a'), failing('b', mine)))
    expect([stopped.end?.outcome, stopped.errors.length]).toEqual(['failed', 1])
    const make = () => both('continue', asker('a'), failing('b', mine))
    const first = await runToEnd(make())
    expect([first.end?.outcome, asked(first)]).toEqual(['interrupted', ['ask-a']])
    const second = await goOn(make(), first, { 'ask-a': 'yes' })
    expect([second.end?.outcome, second.turns]).toEqual(['complete', ['all', 'all/a']])
  })

  test('and fails at last, where all others have failed before, is the failure of the workflow', async () => {
    const make = () => both('continue', asker('a', mine), failing('b'))
    const first = await runToEnd(make())
    expect(first.end?.outcome).toBe('interrupted')
    const second = await goOn(make(), first, { 'ask-a': 'yes' })
    expect([second.end?.outcome, second.errors[0]?.code]).toEqual(['failed', 'MINE'])
  })

  test('and then transfers to an unknown agent has failed, and does not ask any more', async () => {
    const make = () => {
      const tree = setSubAgents(asker('a', transfer('stranger')), [talker('x')])
      return both('continue', tree, talker('b'))
    }
    const first = await runToEnd(make())
    const second = await goOn(make(), first, { 'ask-a': 'yes' })
    expect([second.end?.outcome, asked(second)]).toEqual(['complete', undefined])
  })

  test('writes its state where it stopped, over what the others wrote', async () => {
    const writing = (name: string) => quiet(name, (ctx) => ctx.state.set('k', name))
    const branch = sequential({ name: 'branch', agents: [asker('a'), writing('late')] })
    const make = () => both('stop', branch, writing('b'))
    const first = await runToEnd(make())
    const second = await runToEnd(make(), first.resume({ 'ask-a': 'yes' }), { runId: 'R2', state: { k: 'b' } })
    expect(second.lines.filter((line) => line.includes('state-delta'))[0]).toBe(
      'all/branch/late state-delta {"k":"late"}',
    )
  })
})

describe('two branches that ask', () => {
  const make = () => both('stop', asker('a'), talker('x'), asker('b'))

  test('ask in one action, in listed order', async () => {
    const first = await runToEnd(make())
    expect(first.actions.filter(({ type }) => type === 'interrupt')).toHaveLength(1)
    expect(asked(first)).toEqual(['ask-a', 'ask-b'])
  })

  test.each([
    ['a', 'b'],
    ['b', 'a'],
  ])('may be answered one by one: first %s', async (one, other) => {
    const first = await runToEnd(make())
    const second = await goOn(make(), first, { [`ask-${one}`]: 'yes' })
    expect([second.end?.outcome, asked(second)]).toEqual(['interrupted', [`ask-${other}`]])
    expect(idsOf(first)).toEqual(expect.arrayContaining(idsOf(second) ?? []))
    expect(second.turns).toEqual(['all', `all/${one}`])
    const third = await goOn(make(), second, { [`ask-${other}`]: 'no' }, 'R3')
    expect([third.end?.outcome, third.turns]).toEqual(['complete', ['all', `all/${other}`]])
    expect(third.said).toEqual([`${other}: answered no`, `${other}: ${other} has heard.`])
  })

  test('answered together go on together', async () => {
    const second = await goOn(make(), await runToEnd(make()), { 'ask-a': 1, 'ask-b': 2 })
    expect(second.said.toSorted()).toEqual(['a: a has heard.', 'a: answered 1', 'b: answered 2', 'b: b has heard.'])
    expect(second.end?.outcome).toBe('complete')
  })

  test('with an answer to something else ask again', async () => {
    const first = await runToEnd(make())
    const second = await runToEnd(make(), { ...first.resume(), answers: { other: 1 } }, { runId: 'R2' })
    expect([second.turns, asked(second)]).toEqual([['all'], ['ask-a', 'ask-b']])
    expect(idsOf(second)).toEqual(idsOf(first))
  })

  test('an answer that is null counts as one', async () => {
    const second = await goOn(make(), await runToEnd(make()), { 'ask-a': null, 'ask-b': false })
    expect(second.said.toSorted()).toEqual([
      'a: a has heard.',
      'a: answered null',
      'b: answered false',
      'b: b has heard.',
    ])
  })

  test('in a loop: the next round asks anew, under other ids', async () => {
    const again = (name: string) =>
      scriptedAgent(name, [[`ask-${name}`], 'One.', [`ask-${name}`], 'Two.'], asking(`ask-${name}`))
    const rounds = () => loop({ name: 'rounds', agents: [both('stop', again('a'), again('b'))], maxIterations: 2 })
    const first = await runToEnd(rounds())
    const second = await goOn(rounds(), first, { 'ask-a': 1, 'ask-b': 2 })
    expect(second.end?.outcome).toBe('interrupted')
    expect(new Set([...(idsOf(first) ?? []), ...(idsOf(second) ?? [])]).size).toBe(4)
    const third = await goOn(rounds(), second, Object.fromEntries(idsOf(second)?.map((id) => [id, 3]) ?? []), 'R3')
    expect([third.end?.outcome, third.said.length]).toEqual(['complete', 4])
  })

  test('of nested workflows', async () => {
    const nested = () => both('stop', parallel({ name: 'inner', agents: [asker('a'), asker('b')] }), asker('c'))
    const first = await runToEnd(nested())
    expect(asked(first)).toEqual(['ask-a', 'ask-b', 'ask-c'])
    const second = await goOn(nested(), first, { 'ask-b': 1 })
    expect([second.turns, asked(second)]).toEqual([
      ['all', 'all/inner', 'all/inner/b'],
      ['ask-a', 'ask-c'],
    ])
    const third = await goOn(nested(), second, { 'ask-a': 1, 'ask-c': 1 }, 'R3')
    expect(third.end?.outcome).toBe('complete')
    expect(third.turns.toSorted()).toEqual(['all', 'all/c', 'all/inner', 'all/inner/a'])
  })

  test('whose calls have the same name are distinguished', async () => {
    const same = (name: string) => scriptedAgent(name, [['ask'], `${name} has heard.`], asking())
    const twins = () => both('stop', same('a'), same('b'))
    const first = await runToEnd(twins())
    const ids = idsOf(first) ?? []
    expect(new Set(ids).size).toBe(2)
    const second = await goOn(twins(), first, { [ids[1] ?? '']: 'b' })
    expect(second.said).toEqual(['b: answered b', 'b: b has heard.'])
  })

  test('outside of calls are distinguished by their step', async () => {
    const own = (name: string) =>
      agentOf(name, async function* (ctx) {
        yield* say(ctx, `${name} heard ${await ctx.interrupt({ reason: 'input' })}`)
      })
    const twins = () => both('stop', own('a'), own('b'))
    const first = await runToEnd(twins())
    const [one = '', other = ''] = idsOf(first) ?? []
    expect([one, other]).toEqual([expect.stringMatching(/^branch:0#/), expect.stringMatching(/^branch:1#/)])
    const second = await goOn(twins(), first, { [other]: 'x' })
    expect([second.said, idsOf(second)]).toEqual([['b: b heard x'], [one]])
  })
})
