import { type Agent, KernelError } from '@troupe/kernel'
import { startRun } from '@troupe/kernel/run'
import { testAgent } from '@troupe/testkit'
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
import { agentWithOptions, loop, parallel, sequential, setSubAgents } from '../index.ts'
import { scriptedAgent, transfer } from '../scripted-agent.fixture.ts'

const steps = (...agents: readonly Agent[]) => sequential({ name: 'steps', agents })

testAgent('sequential', () => steps(talker('a'), scriptedAgent('b', [['t'], 'Done.'], tool('t'))))
testAgent('sequential in a tree', () =>
  setSubAgents(scriptedAgent('lead', [transfer('steps')]), [steps(talker('a'), talker('b'))]),
)

test('agents run one after the other, each under the path of the workflow', async () => {
  const { lines } = await runToEnd(steps(talker('a', 'A.'), talker('b', 'B.')))
  expect(lines).toEqual([
    'steps run-start',
    'steps agent-start',
    'steps/a agent-start',
    'steps/a message-start',
    'steps/a text-delta "A."',
    'steps/a message-end "A."',
    'steps/a agent-end complete',
    'steps/b agent-start',
    'steps/b message-start',
    'steps/b text-delta "B."',
    'steps/b message-end "B."',
    'steps/b agent-end complete',
    'steps agent-end complete',
    'steps run-end complete "B."',
  ])
})

test('each sees the messages of those before it, as those of others', async () => {
  const last = scriptedAgent('c', ['C.'])
  await runToEnd(steps(talker('a', 'A.'), scriptedAgent('b', [['t'], 'B.'], tool('t')), last))
  expect(textsOf(last.inputs[0]?.messages ?? [])).toEqual([
    'user: Hello',
    'user: For context: [a] said: A..',
    'user: For context: [b] called tool: `t` with arguments: {}.',
    'user: For context: [b] `t` tool returned result: t done.',
    'user: For context: [b] said: B..',
  ])
})

test('each has a step of its own', async () => {
  const seen: string[] = []
  const noting = (name: string) => quiet(name, (ctx) => seen.push(ctx.step))
  await runToEnd(steps(noting('a'), sequential({ name: 'inner', agents: [noting('b'), noting('c')] })))
  expect(seen).toEqual(['branch:0', 'branch:1/branch:0', 'branch:1/branch:1'])
})

describe('what ends it early', () => {
  test('an exit, with its result, and those after it do not run', async () => {
    const { turns, end, actions } = await runToEnd(steps(yielding('a', { type: 'exit', result: 'X' }), talker('b')))
    expect([turns, end?.output, end?.outcome]).toEqual([['steps', 'steps/a'], 'X', 'complete'])
    expect(actions.at(-1)).toEqual({ type: 'exit', result: 'X' })
  })

  test('an exit ends all workflows around it, of each kind', async () => {
    const inner = steps(yielding('x', { type: 'exit', result: 'X' }), talker('never1'))
    const par = parallel({ name: 'par', agents: [inner] })
    const rounds = loop({ name: 'rounds', agents: [par, talker('never2')] })
    const { turns, end } = await runToEnd(sequential({ name: 'outer', agents: [rounds, talker('never3')] }))
    expect(turns.filter((turn) => turn.includes('never'))).toEqual([])
    expect(end?.output).toBe('X')
  })

  test('a break-loop, which goes on to the loop around it', async () => {
    const inner = steps(yielding('x', { type: 'break-loop' }), talker('never'))
    const { turns } = await runToEnd(loop({ name: 'rounds', agents: [inner] }))
    expect(turns).toEqual(['rounds', 'rounds/steps', 'rounds/steps/x'])
  })

  test('a failure, reported once, and an awaited run rejects with its own error', async () => {
    const error = new KernelError('MINE', 'mine: no', { retryable: true })
    const { errors, turns, end, lines } = await runToEnd(steps(talker('a'), failing('b', error), talker('c')))
    expect(errors).toMatchObject([{ code: 'MINE', message: 'mine: no', retryable: true }])
    expect(turns).toEqual(['steps', 'steps/a', 'steps/b'])
    expect(lines.slice(-3)).toEqual(['steps/b agent-end failed', 'steps agent-end failed', expect.any(String)])
    expect(end).toMatchObject({ outcome: 'failed', error: { code: 'MINE' } })
  })

  test('a failure, with which an awaited run rejects as it was thrown', async () => {
    const error = new KernelError('MINE', 'mine: no', { cause: new Error('why') })
    await expect(Promise.resolve(startRun(steps(failing('b', error)), hello))).rejects.toBe(error)
  })

  test('a soft cancel, between two agents', async () => {
    let cancelling = false
    const cancel = quiet('a', () => {
      cancelling = true
    })
    const settings = { cancelling: () => (cancelling ? ('after-tools' as const) : undefined) }
    const { turns, end } = await runToEnd(steps(cancel, talker('b')), hello, settings)
    expect([turns, end?.outcome]).toEqual([['steps', 'steps/a'], 'cancelled'])
  })

  test('not an agent without a message', async () => {
    expect((await runToEnd(steps(scriptedAgent('a', []), talker('b')))).end?.text).toBe('I am b.')
  })

  test('not a custom action', async () => {
    expect((await runToEnd(steps(yielding('a', { type: 'custom', name: 'x' }), talker('b')))).end?.text).toBe('I am b.')
  })
})

describe('with transfers', () => {
  test('an agent of a step can transfer inside its own tree; the next step follows', async () => {
    const tree = setSubAgents(scriptedAgent('lead', [transfer('child')]), [talker('child')])
    expect((await runToEnd(steps(tree, talker('b')))).turns).toEqual([
      'steps',
      'steps/lead',
      'steps/lead/child',
      'steps/b',
    ])
  })

  test('an agent of a step cannot transfer to another step, or out of the workflow', async () => {
    for (const to of ['b', 'steps', 'top']) {
      const inner = steps(transferring('a', to), talker('b'))
      const { errors } = await runToEnd(setSubAgents(transferring('top', 'steps'), [inner]))
      expect(errors).toMatchObject([{ code: 'TRANSFER_TARGET_UNKNOWN' }])
    }
  })

  test('a workflow can be an agent of a tree, and its end is the end', async () => {
    const { turns, end } = await runToEnd(setSubAgents(transferring('top', 'steps'), [steps(talker('a'), talker('b'))]))
    expect([turns, end?.text]).toEqual([['top', 'top/steps', 'top/steps/a', 'top/steps/b'], 'I am b.'])
  })

  test('the budget of transfers is that of the run, however they are nested', async () => {
    const pong = (name: string) =>
      setSubAgents(scriptedAgent(name, Array(7).fill(transfer(`${name}-child`))), [
        scriptedAgent(`${name}-child`, Array(7).fill(transfer(name))),
      ])
    const { errors, turns } = await runToEnd(steps(pong('a'), pong('b')))
    expect(errors).toMatchObject([{ code: 'TRANSFER_LIMIT' }])
    expect(turns).toHaveLength(1 + 2 + 25)
  })
})

describe('what its agents are given', () => {
  const given = { tool: tool('given'), returnDirectly: false }

  test('additions and options reach each of them', async () => {
    const [a, b] = [scriptedAgent('a', ['A.']), scriptedAgent('b', ['B.'])]
    const workflow = steps(a, b)
    expect(workflow.acceptsAdditions).toBe(true)
    await runToEnd(workflow, {
      ...hello,
      additions: { instruction: 'Be brief.', tools: [given] },
      options: { maxIterations: 3 },
    })
    for (const { inputs } of [a, b]) {
      expect(inputs[0]).toMatchObject({
        additions: { instruction: 'Be brief.', tools: [given] },
        options: { maxIterations: 3 },
      })
    }
  })

  test('after a transfer to the workflow, the tools come and the instruction stays', async () => {
    const a = scriptedAgent('a', ['A.'])
    const tree = setSubAgents(transferring('top', 'steps'), [steps(a)])
    await runToEnd(tree, { ...hello, additions: { instruction: 'Be brief.', tools: [given] } })
    expect(a.inputs[0]?.additions?.tools).toEqual([given])
    expect(a.inputs[0]?.additions?.instruction ?? '').toBe('')
  })
})

test.each<[string, () => unknown]>([
  ['no name', () => sequential({ name: '', agents: [talker('a')] })],
  ['no agents', () => sequential({ name: 's', agents: [] })],
  ['no list', () => sequential({ name: 's', agents: talker('a') as never })],
  ['something that is not an agent', () => sequential({ name: 's', agents: [{} as never] })],
  ['two of one name at once', () => parallel({ name: 's', agents: [talker('a'), talker('a')] })],
])('%s is CONFIG_INVALID', (_, build) => {
  expect(thrownBy(build)).toMatch(/^CONFIG_INVALID /)
})

test('its description is the given one, or its kind and the names of its agents', () => {
  expect(steps(talker('a'), talker('b')).description).toBe('sequential of a, b')
  expect(sequential({ name: 's', description: 'Mine.', agents: [talker('a')] }).description).toBe('Mine.')
})

test('a rewriter of one of its agents holds for that one', async () => {
  const [b, c] = [scriptedAgent('b', ['B.']), scriptedAgent('c', ['C.'])]
  await runToEnd(steps(talker('a'), agentWithOptions(b, { historyRewriter: () => [] }), c))
  expect([b.inputs[0]?.messages.length, c.inputs[0]?.messages.length]).toEqual([0, 3])
})
