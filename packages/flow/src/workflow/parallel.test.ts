import { type Agent, say } from '@troupe/kernel'
import { testAgent } from '@troupe/testkit'
import { describe, expect, test } from 'vitest'
import {
  agentOf,
  hello,
  idle,
  quiet,
  type RecordedRun,
  runToEnd,
  talker,
  textsOf,
  thrownBy,
  tool,
  transferring,
  user,
  yielding,
} from '../flow.fixture.ts'
import { agentWithOptions, loop, parallel, sequential, sessionOf, setSubAgents } from '../index.ts'
import { scriptedAgent, transfer } from '../scripted-agent.fixture.ts'

const all = (...agents: readonly Agent[]) => parallel({ name: 'all', agents })

testAgent('parallel', () => all(talker('a'), scriptedAgent('b', [['t', 'u'], 'Done.'], tool('t'), tool('u'))))
testAgent('parallel in a tree, with transfers inside', () => {
  const tree = setSubAgents(scriptedAgent('lead', [transfer('child')]), [talker('child')])
  return setSubAgents(scriptedAgent('top', [transfer('all')]), [all(tree, talker('b'))])
})

/** Agents that answer when the test lets them. */
function waiting(...names: readonly string[]) {
  const gates = names.map(() => Promise.withResolvers<void>())
  const agents = names.map((name, i) =>
    agentOf(name, async function* (ctx) {
      await gates[i]?.promise
      yield* say(ctx, `I am ${name}.`)
    }),
  )
  const finish = async (...order: readonly number[]) => {
    for (const i of order) {
      await idle()
      gates[i]?.resolve()
    }
  }
  return { agents, finish }
}

describe('branches', () => {
  test('all start before any of them has ended, in listed order, under the path of the workflow', async () => {
    const { agents, finish } = waiting('a', 'b', 'c')
    const running = runToEnd(all(...agents))
    await finish(2, 1, 0)
    const { turns, lines, end } = await running
    expect(turns).toEqual(['all', 'all/a', 'all/b', 'all/c'])
    const ends = lines.filter((line) => line.includes('agent-end'))
    expect(ends).toEqual(
      ['c', 'b', 'a'].map((name) => `all/${name} agent-end complete`).concat('all agent-end complete'),
    )
    expect(end?.outcome).toBe('complete')
  })

  test('see the shared history and their own messages, not those of each other', async () => {
    const note = tool('note')
    const [a, b] = [scriptedAgent('a', [['note'], 'A1.'], note), scriptedAgent('b', [['note'], 'B1.', 'B2.'], note)]
    const seen: string[][] = []
    const look = agentOf('look', async function* (ctx) {
      yield* say(ctx, 'L.')
      await idle()
      seen.push(textsOf(sessionOf(ctx)?.messages ?? []))
    })
    await runToEnd(agentWithOptions(all(a, b, look), {}), { messages: [user('Hi', 'u0')] })
    expect([a, b].map(({ inputs }) => textsOf(inputs[0]?.messages ?? []))).toEqual([['user: Hi'], ['user: Hi']])
    expect(seen).toEqual([['user: Hi', 'look: L.']])
  })

  test('have steps and ids of their own', async () => {
    const steps: string[] = []
    const { history } = await runToEnd(
      all(
        talker('a'),
        talker('b'),
        quiet('c', (ctx) => steps.push(ctx.step)),
      ),
    )
    expect(steps).toEqual(['branch:2'])
    expect(new Set(history.map(({ id }) => id)).size).toBe(3)
  })

  test('that call tools of one name have calls of their own', async () => {
    const echo = tool('echo', (_, ctx) => ctx.agentName)
    const { history, end } = await runToEnd(
      all(scriptedAgent('a', [['echo'], 'A.'], echo), scriptedAgent('b', [['echo'], 'B.'], echo)),
    )
    const results = history.flatMap((message) => (message.role === 'tool' ? [message] : []))
    expect(new Set(results.map(({ callId }) => callId)).size).toBe(2)
    expect(results.every(({ agentName, content }) => agentName === content)).toBe(true)
    expect(end?.openCallIds).toBeUndefined()
  })
})

describe('what was said is joined in listed order', () => {
  test.each([
    [0, 1, 2],
    [2, 1, 0],
    [1, 2, 0],
  ])('finished %i %i %i', async (...order) => {
    const { agents, finish } = waiting('a', 'b', 'c')
    const after = scriptedAgent('after', ['Done.'])
    const running = runToEnd(sequential({ name: 'steps', agents: [all(...agents), after] }))
    await finish(...order)
    await running
    expect(textsOf(after.inputs[0]?.messages ?? [])).toEqual([
      'user: Hello',
      ...['a', 'b', 'c'].map((name) => `user: For context: [${name}] said: I am ${name}..`),
    ])
  })

  test('calls and results of one branch stay together', async () => {
    const t = tool('t', () => idle().then(() => 'T'))
    const after = scriptedAgent('after', ['Done.'])
    const [a, b] = [scriptedAgent('a', [['t'], 'A'], t), scriptedAgent('b', [['t'], 'B'], t)]
    await runToEnd(sequential({ name: 'steps', agents: [all(a, b), after] }))
    const words = (name: string) => [
      `user: For context: [${name}] called tool: \`t\` with arguments: {}.`,
      `user: For context: [${name}] \`t\` tool returned result: T.`,
      `user: For context: [${name}] said: ${name.toUpperCase()}.`,
    ]
    expect(textsOf(after.inputs[0]?.messages ?? [])).toEqual(['user: Hello', ...words('a'), ...words('b')])
  })
})

describe('state', () => {
  const final = ({ events }: RecordedRun): Record<string, unknown> => {
    const state: Record<string, unknown> = {}
    for (const event of events) {
      if (event.type !== 'state-delta') continue
      Object.assign(state, event.set)
      for (const key of event.removed) delete state[key]
    }
    return state
  }
  /** A branch that writes after `turns` turns of the event loop. */
  const writing = (
    name: string,
    turns: number,
    write: (state: Parameters<Parameters<typeof quiet>[1]>[0]['state']) => void,
  ) =>
    quiet(name, async (ctx) => {
      for (let i = 0; i < turns; i++) await idle()
      write(ctx.state)
      await idle()
    })

  test('of a branch is not seen by the others, and seen by itself', async () => {
    const seen: unknown[] = []
    const a = quiet('a', (ctx) => {
      ctx.state.set('k', 'a')
      seen.push(ctx.state.get('k'))
    })
    const b = quiet('b', async (ctx) => {
      await idle()
      seen.push(ctx.state.get('k'), [...ctx.state.keys()])
    })
    await runToEnd(all(a, b), hello, { state: { k: 'old', other: 1 } })
    expect(seen).toEqual(['a', 'old', ['k', 'other']])
  })

  test.each([
    ['first', 0, 3],
    ['last', 3, 0],
  ])('is joined in listed order, also when the last listed finishes %s', async (_, a, b) => {
    const after: unknown[] = []
    const agent = sequential({
      name: 'steps',
      agents: [
        all(
          writing('a', a, (state) => state.set('k', 'a')),
          writing('b', b, (state) => state.set('k', 'b')),
        ),
        quiet('after', (ctx) => after.push(ctx.state.get('k'))),
      ],
    })
    const result = await runToEnd(agent)
    expect(after).toEqual(['b'])
    expect(final(result)).toEqual({ k: 'b' })
  })

  test('of different keys is kept side by side', async () => {
    const result = await runToEnd(
      all(
        writing('a', 0, (state) => state.set('a', 1)),
        writing('b', 0, (state) => state.set('b', { deep: [2] })),
      ),
    )
    expect(final(result)).toEqual({ a: 1, b: { deep: [2] } })
  })

  test('a key that a branch deletes is gone', async () => {
    const after: unknown[] = []
    const branches = all(
      writing('a', 0, (state) => state.delete('k')),
      writing('b', 0, (state) => state.delete('never')),
    )
    const agents = [branches, quiet('after', (ctx) => after.push([...ctx.state.keys()]))]
    const { events } = await runToEnd(sequential({ name: 'steps', agents }), hello, { state: { k: 1 } })
    expect(after).toEqual([[]])
    expect(events).toContainEqual(expect.objectContaining({ type: 'state-delta', removed: ['k'] }))
  })

  test('a key set by one and deleted by a later one is gone; the other way round it is there', async () => {
    const set = (name: string) => writing(name, 0, (state) => state.set('k', 2))
    const drop = (name: string) => writing(name, 1, (state) => state.delete('k'))
    expect(final(await runToEnd(all(set('a'), drop('b')), hello, { state: { k: 1 } }))).toEqual({})
    expect(final(await runToEnd(all(drop('a'), set('b')), hello, { state: { k: 1 } }))).toEqual({ k: 2 })
  })

  test('in a branch of a branch', async () => {
    const seen: unknown[] = []
    const inner = parallel({ name: 'inner', agents: [writing('a', 0, (state) => state.set('k', 'a'))] })
    const look = quiet('look', (ctx) => seen.push(ctx.state.get('k')))
    const branch = sequential({ name: 'branch', agents: [inner, look] })
    const other = quiet('other', async (ctx) => {
      for (let i = 0; i < 4; i++) await idle()
      seen.push(ctx.state.get('k'))
    })
    const result = await runToEnd(all(branch, other))
    expect([seen, final(result)]).toEqual([['a', undefined], { k: 'a' }])
  })
})

describe('what branches want', () => {
  test('an exit ends all around it when every branch is done', async () => {
    const { agents, finish } = waiting('slow')
    const steps = sequential({
      name: 'steps',
      agents: [all(yielding('x', { type: 'exit', result: 'X' }), ...agents), talker('never')],
    })
    const running = runToEnd(steps)
    await finish(0)
    const { said, end } = await running
    expect([said, end?.output, end?.outcome]).toEqual([['x: x', 'slow: I am slow.'], 'X', 'complete'])
  })

  test('an exit goes before a break-loop, and of two exits the last listed counts', async () => {
    const agents = [
      yielding('x1', { type: 'exit', result: 1 }),
      yielding('x2', { type: 'exit', result: 2 }),
      yielding('stop', { type: 'break-loop' }),
    ]
    const { end, actions } = await runToEnd(loop({ name: 'rounds', agents: [all(...agents)], maxIterations: 3 }))
    expect([actions.at(-1), end?.output]).toEqual([{ type: 'exit', result: 2 }, 2])
  })

  test('a transfer stays in its branch', async () => {
    const tree = setSubAgents(transferring('lead', 'child'), [talker('child')])
    const { turns } = await runToEnd(all(tree, talker('b')))
    expect(turns.toSorted()).toEqual(['all', 'all/b', 'all/lead', 'all/lead/child'])
    const { errors } = await runToEnd(all(transferring('a', 'b'), talker('b')))
    expect(errors).toMatchObject([{ code: 'TRANSFER_TARGET_UNKNOWN' }])
  })
})

test.each<[string, () => unknown]>([
  [
    'a policy of errors that is invalid',
    () => parallel({ name: 'p', agents: [talker('a')], onError: 'ignore' as never }),
  ],
  ['no agents', () => parallel({ name: 'p', agents: [] })],
  ['two of one name', () => all(talker('a'), talker('a'))],
])('%s is CONFIG_INVALID', (_, build) => {
  expect(thrownBy(build)).toMatch(/^CONFIG_INVALID /)
})
