import type { Agent } from '@troupe/kernel'
import { createRunContext } from '@troupe/kernel/run'
import { testAgent, testTool } from '@troupe/testkit'
import { describe, expect, test } from 'vitest'
import {
  failing,
  hello,
  quiet,
  runToEnd,
  talker,
  textsOf,
  thrownBy,
  tool,
  transferring,
  yielding,
} from '../flow.fixture.ts'
import { breakLoopTool, loop, parallel, sequential, setSubAgents } from '../index.ts'
import { scriptedAgent, transfer } from '../scripted-agent.fixture.ts'

const rounds = (maxIterations: number | undefined, ...agents: readonly Agent[]) =>
  loop({ name: 'rounds', agents, ...(maxIterations !== undefined && { maxIterations }) })
const breaking = (name = 'stop') => yielding(name, { type: 'break-loop' })

testAgent('loop', () => rounds(3, talker('a'), scriptedAgent('b', [['t'], 'One.', 'Two.'], tool('t'))))
testAgent('loop with a break', () => rounds(3, talker('a'), breaking()))

describe('how often', () => {
  test('in order, again and again, and then it is complete', async () => {
    const { turns, end } = await runToEnd(rounds(3, talker('a'), talker('b')))
    expect(turns).toEqual(['rounds', ...Array(3).fill(['rounds/a', 'rounds/b']).flat()])
    expect([end?.outcome, end?.text]).toEqual(['complete', 'I am b.'])
  })

  test('the beginning and the end of each agent say which iteration it is, also after a transfer and in loops inside', async () => {
    const tree = setSubAgents(transferring('a', 'T'), [talker('T')])
    const { events } = await runToEnd(rounds(2, tree, loop({ name: 'inner', agents: [talker('b')], maxIterations: 2 })))
    const frames = events.flatMap((event) =>
      event.type === 'agent-start' || event.type === 'agent-end'
        ? [`${event.type.slice(6)} ${event.agentName} ${event.iteration}`]
        : [],
    )
    const round = (n: number) => [
      ...['a', 'T'].flatMap((name) => [`start ${name} ${n}`, `end ${name} ${n}`]),
      `start inner ${n}`,
      ...[0, 1].flatMap((i) => [`start b ${i}`, `end b ${i}`]),
      `end inner ${n}`,
    ]
    expect(frames).toEqual(['start rounds undefined', ...round(0), ...round(1), 'end rounds undefined'])
  })

  test('10 times, unless said otherwise', async () => {
    expect((await runToEnd(rounds(undefined, talker('a')))).turns).toHaveLength(11)
  })

  test('each round sees what was said in those before it', async () => {
    const a = scriptedAgent('a', ['One.', 'Two.'])
    await runToEnd(rounds(2, a, talker('b', 'B')))
    expect(textsOf(a.inputs[1]?.messages ?? [])).toEqual(['user: Hello', 'a: One.', 'user: For context: [b] said: B.'])
  })

  test('each round has steps and ids of its own', async () => {
    const seen: string[] = []
    const { history } = await runToEnd(
      rounds(
        2,
        quiet('a', (ctx) => seen.push(ctx.step)),
        talker('b'),
      ),
    )
    expect(seen).toEqual(['loop:0/branch:0', 'loop:1/branch:0'])
    expect(new Set(history.map(({ id }) => id)).size).toBe(3)
  })
})

describe('what ends it', () => {
  test('a break-loop of any of its agents, at once; it stays inside', async () => {
    const { turns, end } = await runToEnd(
      sequential({ name: 'outer', agents: [rounds(5, talker('a'), breaking(), talker('never')), talker('after')] }),
    )
    expect(turns).toEqual(['outer', 'outer/rounds', 'outer/rounds/a', 'outer/rounds/stop', 'outer/after'])
    expect([end?.outcome, end?.text]).toEqual(['complete', 'I am after.'])
  })

  test('a break-loop in a later round', async () => {
    const b = scriptedAgent(
      'b',
      ['Again.', ['respond']],
      tool('respond', (_, ctx) => ctx.sendAction({ type: 'break-loop' })),
    )
    expect((await runToEnd(rounds(5, talker('a'), b))).turns).toHaveLength(1 + 4)
  })

  test('ends the innermost loop only', async () => {
    const inner = loop({ name: 'inner', agents: [breaking(), talker('never')] })
    const { turns } = await runToEnd(rounds(2, inner, talker('b')))
    expect(turns).toEqual(['rounds', ...Array(2).fill(['rounds/inner', 'rounds/inner/stop', 'rounds/b']).flat()])
  })

  test('a break-loop of a transfer target', async () => {
    const tree = setSubAgents(transferring('lead', 'stop'), [breaking()])
    expect((await runToEnd(rounds(5, tree))).turns).toEqual(['rounds', 'rounds/lead', 'rounds/lead/stop'])
  })

  test('a break-loop out of parallel and sequential workflows inside', async () => {
    const par = parallel({ name: 'par', agents: [breaking(), talker('beside')] })
    const steps = sequential({ name: 'steps', agents: [par, talker('never')] })
    const { turns } = await runToEnd(rounds(5, steps))
    expect(turns.filter((turn) => turn.endsWith('rounds/steps'))).toHaveLength(1)
    expect(turns.join()).not.toContain('never')
  })

  test('a break-loop outside a loop has no effect', async () => {
    const { end } = await runToEnd(setSubAgents(breaking('alone'), []))
    expect([end?.outcome, end?.text]).toEqual(['complete', 'alone'])
  })

  test('an exit, with its result', async () => {
    const { turns, end } = await runToEnd(rounds(5, yielding('a', { type: 'exit', result: 'X' }), talker('never')))
    expect([turns, end?.output]).toEqual([['rounds', 'rounds/a'], 'X'])
  })

  test('a failure', async () => {
    const { turns, errors } = await runToEnd(rounds(5, talker('a'), failing('b')))
    expect([turns.length, errors.length, errors[0]?.message]).toEqual([3, 1, expect.stringContaining('b broke')])
  })

  test('a soft cancel, between two rounds', async () => {
    let cancelling = false
    const cancel = quiet('a', () => {
      cancelling = true
    })
    const settings = { cancelling: () => (cancelling ? ('after-model' as const) : undefined) }
    const { turns, end } = await runToEnd(rounds(5, cancel), hello, settings)
    expect([turns, end?.outcome]).toEqual([['rounds', 'rounds/a'], 'cancelled'])
  })
})

describe('in a tree', () => {
  test('a loop as a target', async () => {
    const { turns } = await runToEnd(
      setSubAgents(scriptedAgent('lead', [transfer('rounds')]), [rounds(2, talker('a'))]),
    )
    expect(turns).toEqual(['lead', 'lead/rounds', 'lead/rounds/a', 'lead/rounds/a'])
  })

  test('an agent with sub-agents starts again also if the last message was a direct result', async () => {
    const direct = tool('direct', () => ({ content: 'That is it.', direct: true }))
    const tree = setSubAgents(transferring('lead', 'child'), [scriptedAgent('child', [['direct'], ['direct']], direct)])
    expect((await runToEnd(rounds(2, tree))).turns).toEqual([
      'rounds',
      ...Array(2).fill(['rounds/lead', 'rounds/lead/child']).flat(),
    ])
  })

  test('an agent with sub-agents begins anew in each round', async () => {
    const tree = setSubAgents(transferring('lead', 'child'), [talker('child')])
    expect((await runToEnd(rounds(2, tree))).turns).toEqual([
      'rounds',
      ...Array(2).fill(['rounds/lead', 'rounds/lead/child']).flat(),
    ])
  })
})

test.each([0, -1, 1.5, Number.NaN, '3', null])('maxIterations: %j is CONFIG_INVALID', (maxIterations) => {
  expect(thrownBy(() => rounds(maxIterations as never, talker('a')))).toMatch(/^CONFIG_INVALID .*maxIterations/)
})

testTool('breakLoopTool', () => breakLoopTool() as never, { args: { response: 'Done.' }, invalid: [{}] })

describe('breakLoopTool', () => {
  test('ends the loop, and its response is the result', async () => {
    const critic = scriptedAgent(
      'critic',
      ['Again.', [{ name: 'respond', args: { response: 'Good.' } }]],
      breakLoopTool() as never,
    )
    const { turns, end } = await runToEnd(rounds(5, talker('writer'), critic))
    expect([turns.length, end?.outcome, end?.text]).toEqual([5, 'complete', 'Good.'])
  })

  test('is direct, and has the given name and description', async () => {
    const actions: unknown[] = []
    const call = { callId: 'c', onAction: (action: unknown) => void actions.push(action), onInterrupt() {} }
    const ctx = createRunContext().derive({ call })
    const input = { name: 'done', arguments: '', callId: 'c', step: '', idempotencyKey: '' }
    const done = breakLoopTool({ name: 'done', description: 'D' })
    expect([done.name, done.description]).toEqual(['done', 'D'])
    expect(await done.invoke?.({ response: 'Bye.' }, ctx, input)).toMatchObject({ content: 'Bye.', direct: true })
    expect(actions).toEqual([{ type: 'break-loop' }])
  })
})
