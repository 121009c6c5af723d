import type { Agent } from '@troupe/kernel'
import { testAgent } from '@troupe/testkit'
import { describe, expect, test } from 'vitest'
import { failing, hello, runToEnd, talker, textsOf, thrownBy, tool, transferring, yielding } from '../flow.fixture.ts'
import { agentWithOptions, loop, sequential, setSubAgents, supervisor } from '../index.ts'
import { scriptedAgent, transfer } from '../scripted-agent.fixture.ts'

const lead = (...targets: readonly string[]) => scriptedAgent('lead', [...targets.map(transfer), 'Done.'])
const team = (boss: Agent, ...agents: readonly Agent[]) => supervisor({ supervisor: boss, agents })
const back = '{"agent_name":"lead"}'

testAgent('supervisor', () => team(lead('a', 'b'), talker('a'), scriptedAgent('b', [['t'], 'B.'], tool('t'))))
testAgent('supervisor of workflows', () =>
  team(lead('steps'), sequential({ name: 'steps', agents: [talker('a'), talker('b')] })),
)

describe('the way back', () => {
  test('is taken by itself, and is an ordinary transfer in the events', async () => {
    const { lines } = await runToEnd(team(lead('a'), talker('a', 'A.')))
    const first = lines.indexOf('lead/a message-end "A."')
    expect(lines.slice(first + 1)).toEqual([
      'lead/a message-start',
      'lead/a tool-call-start transfer_to_agent',
      `lead/a tool-call-delta ${JSON.stringify(back)}`,
      `lead/a tool-call-end transfer_to_agent(${back})`,
      `lead/a message-end "" transfer_to_agent(${back})`,
      `lead/a tool-start transfer_to_agent(${back})`,
      'lead/a tool-end transfer_to_agent complete "successfully transferred to agent [lead]"',
      'lead/a action {"type":"transfer-to-agent","agentName":"lead"}',
      'lead/a agent-end complete',
      'lead/a/lead agent-start',
      'lead/a/lead message-start',
      'lead/a/lead text-delta "Done."',
      'lead/a/lead message-end "Done."',
      'lead/a/lead agent-end complete',
      'lead run-end complete "Done."',
    ])
  })

  test('and in the history', async () => {
    const boss = lead('a')
    await runToEnd(team(boss, talker('a', 'A')))
    expect(textsOf(boss.inputs[1]?.messages ?? []).slice(3)).toEqual([
      'user: For context: [a] said: A.',
      `user: For context: [a] called tool: \`transfer_to_agent\` with arguments: ${back}.`,
      'user: For context: [a] `transfer_to_agent` tool returned result: successfully transferred to agent [lead].',
    ])
  })

  test('from one after the other', async () => {
    const { turns, end } = await runToEnd(team(lead('a', 'b', 'a'), talker('a'), talker('b')))
    expect(turns.map((turn) => turn.split('/').at(-1))).toEqual(['lead', 'a', 'lead', 'b', 'lead', 'a', 'lead'])
    expect(end?.text).toBe('Done.')
  })

  test('from an agent without a message', async () => {
    expect((await runToEnd(team(lead('a'), scriptedAgent('a', [])))).end?.text).toBe('Done.')
  })

  test('is not offered to the model, and needs no additions', async () => {
    const a = scriptedAgent('a', ['A.'])
    const { acceptsAdditions: _, ...deaf } = talker('b')
    const { end } = await runToEnd(team(lead('a', 'b'), a, deaf))
    expect([end?.text, a.inputs[0]?.additions]).toEqual(['Done.', undefined])
  })

  test('may be taken by the agent itself, and then once', async () => {
    const { turns } = await runToEnd(team(lead('a'), transferring('a', 'lead')))
    expect(turns).toEqual(['lead', 'lead/a', 'lead/a/lead'])
  })

  test('works also if its agents are not allowed to transfer to their parent', async () => {
    const a = agentWithOptions(talker('a'), { disallowTransferToParent: true })
    expect((await runToEnd(team(lead('a'), a))).end?.text).toBe('Done.')
  })

  test('costs nothing; a supervisor in circles is stopped all the same', async () => {
    const { errors, turns } = await runToEnd(team(transferring('lead', 'a'), talker('a')))
    expect([errors[0]?.code, turns.length]).toEqual(['TRANSFER_LIMIT', 51])
  })

  test('from a workflow', async () => {
    const steps = sequential({ name: 'steps', agents: [talker('a'), talker('b')] })
    const { turns, end } = await runToEnd(team(lead('steps'), steps))
    expect(turns).toEqual(['lead', 'lead/steps', 'lead/steps/a', 'lead/steps/b', 'lead/steps/lead'])
    expect(end?.text).toBe('Done.')
  })
})

describe('what goes before it', () => {
  test('an exit', async () => {
    const { turns, end } = await runToEnd(team(lead('a'), yielding('a', { type: 'exit', result: 'X' })))
    expect([turns, end?.output]).toEqual([['lead', 'lead/a'], 'X'])
  })

  test('a transfer to a child of its own, which does not return', async () => {
    const tree = setSubAgents(transferring('a', 'leaf'), [talker('leaf')])
    const { turns, end } = await runToEnd(team(lead('a'), tree))
    expect([turns, end?.text]).toEqual([['lead', 'lead/a', 'lead/a/leaf'], 'I am leaf.'])
  })

  test('a failure', async () => {
    const { errors, turns } = await runToEnd(team(lead('a'), failing('a')))
    expect([errors.length, turns]).toEqual([1, ['lead', 'lead/a']])
  })

  test('not a custom action', async () => {
    expect((await runToEnd(team(lead('a'), yielding('a', { type: 'custom', name: 'x' })))).end?.text).toBe('Done.')
  })

  test('not a transfer inside a workflow', async () => {
    const tree = setSubAgents(transferring('x', 'y'), [talker('y')])
    const { turns } = await runToEnd(team(lead('steps'), sequential({ name: 'steps', agents: [tree] })))
    expect(turns).toEqual(['lead', 'lead/steps', 'lead/steps/x', 'lead/steps/x/y', 'lead/steps/lead'])
  })

  test('not a break-loop that has ended a loop inside', async () => {
    const rounds = loop({ name: 'rounds', agents: [yielding('x', { type: 'break-loop' })] })
    const { turns } = await runToEnd(team(lead('rounds'), rounds))
    expect(turns).toEqual(['lead', 'lead/rounds', 'lead/rounds/x', 'lead/rounds/lead'])
  })
})

describe('nesting', () => {
  test('a supervisor of supervisors: agents return to their own supervisor', async () => {
    const mid = team(scriptedAgent('mid', [transfer('leaf'), 'Mid done.']), talker('leaf'))
    const { turns, end } = await runToEnd(team(lead('mid'), mid))
    expect(turns.map((turn) => turn.split('/').at(-1))).toEqual(['lead', 'mid', 'leaf', 'mid', 'lead'])
    expect(end?.text).toBe('Done.')
  })

  test('a supervisor as a step of a workflow', async () => {
    const { turns } = await runToEnd(sequential({ name: 'steps', agents: [team(lead('a'), talker('a')), talker('b')] }))
    expect(turns).toEqual(['steps', 'steps/lead', 'steps/lead/a', 'steps/lead/a/lead', 'steps/b'])
  })

  test('a break-loop of its agent reaches the loop around it', async () => {
    const boss = team(transferring('lead', 'a'), yielding('a', { type: 'break-loop' }))
    const { turns } = await runToEnd(loop({ name: 'rounds', agents: [boss], maxIterations: 3 }))
    expect(turns).toEqual(['rounds', 'rounds/lead', 'rounds/lead/a'])
  })

  test('a supervisor in the tree of another agent', async () => {
    const { turns } = await runToEnd(setSubAgents(transferring('top', 'lead'), [team(lead('a'), talker('a'))]))
    expect(turns).toEqual(['top', 'top/lead', 'top/lead/a', 'top/lead/a/lead'])
  })
})

test('its agents can be replaced before the first run, and the old ones then do not return any more', async () => {
  const boss = team(lead('a'), talker('a'))
  expect((await runToEnd(setSubAgents(boss, [talker('a')]))).turns).toEqual(['lead', 'lead/a'])
})

test('an agent that was taken out of a team comes back no more', async () => {
  const a = agentWithOptions(talker('a'), {})
  setSubAgents(team(lead('a'), a), [])
  const { turns, errors } = await runToEnd(setSubAgents(transferring('other', 'a'), [a]))
  expect([turns, errors]).toEqual([['other', 'other/a'], []])
})

test('bad input is CONFIG_INVALID, and a tree that has run is TREE_FROZEN', async () => {
  expect(thrownBy(() => team(talker('lead'), talker('lead')))).toMatch(/^CONFIG_INVALID/)
  expect(thrownBy(() => supervisor({ supervisor: talker('lead'), agents: undefined as never }))).toMatch(
    /^CONFIG_INVALID/,
  )
  const boss = team(lead(), talker('a'))
  await runToEnd(boss, hello)
  expect(thrownBy(() => team(boss, talker('b')))).toMatch(/^TREE_FROZEN/)
})
