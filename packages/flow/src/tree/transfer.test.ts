import { type Agent, KernelError, type RunInfo } from '@troupe/kernel'
import { testAgent } from '@troupe/testkit'
import { describe, expect, test } from 'vitest'
import { agentOf, hello, runToEnd, talker, textsOf, tool, transferring, yielding } from '../flow.fixture.ts'
import { agentWithOptions, setSubAgents } from '../index.ts'
import { scriptedAgent, transfer } from '../scripted-agent.fixture.ts'

/** The agents of the spec. */
const beijing = () => {
  const chat = scriptedAgent('ChatAgent', ['Hello!'])
  const weather = scriptedAgent(
    'WeatherAgent',
    [['get_weather'], '25°C.'],
    tool('get_weather', () => '25°C'),
  )
  const router = scriptedAgent('RouterAgent', [transfer('WeatherAgent')])
  return { router, weather, agent: setSubAgents(router, [chat, weather]) }
}

testAgent('a transfer', () => beijing().agent)
testAgent('a transfer there and back', () =>
  setSubAgents(scriptedAgent('lead', [transfer('child'), 'Done.']), [scriptedAgent('child', [transfer('lead')])]),
)

describe('the events of a transfer', () => {
  test('have this order and these paths', async () => {
    const { agent, weather } = beijing()
    const { lines } = await runToEnd(agent)
    const args = '{"agent_name":"WeatherAgent"}'
    expect(lines).toEqual([
      'RouterAgent run-start',
      'RouterAgent agent-start',
      'RouterAgent message-start',
      `RouterAgent message-end "" transfer_to_agent(${args})`,
      `RouterAgent tool-start transfer_to_agent(${args})`,
      'RouterAgent tool-end transfer_to_agent complete "successfully transferred to agent [WeatherAgent]"',
      'RouterAgent action {"type":"transfer-to-agent","agentName":"WeatherAgent"}',
      'RouterAgent agent-end complete',
      'RouterAgent/WeatherAgent agent-start',
      'RouterAgent/WeatherAgent message-start',
      'RouterAgent/WeatherAgent message-end "" get_weather({})',
      'RouterAgent/WeatherAgent tool-start get_weather({})',
      'RouterAgent/WeatherAgent tool-end get_weather complete "25°C"',
      'RouterAgent/WeatherAgent message-start',
      'RouterAgent/WeatherAgent text-delta "25°C."',
      'RouterAgent/WeatherAgent message-end "25°C."',
      'RouterAgent/WeatherAgent agent-end complete',
      'RouterAgent run-end complete "25°C."',
    ])
    expect(textsOf(weather.inputs[0]?.messages ?? [])).toEqual([
      'user: Hello',
      `user: For context: [RouterAgent] called tool: \`transfer_to_agent\` with arguments: ${args}.`,
      'user: For context: [RouterAgent] `transfer_to_agent` tool returned result: successfully transferred to agent [WeatherAgent].',
    ])
  })

  test('of an agent without a model are the same', async () => {
    const { turns, end } = await runToEnd(setSubAgents(transferring('lead', 'child'), [talker('child')]))
    expect([turns, end?.text]).toEqual([['lead', 'lead/child'], 'I am child.'])
  })

  test('to the parent and back again: each sees its own messages as they are', async () => {
    const child = scriptedAgent('child', [transfer('lead'), 'Bye.'])
    const lead = scriptedAgent('lead', [transfer('child'), transfer('child')])
    const { turns, end } = await runToEnd(setSubAgents(lead, [child]))
    expect(turns).toEqual(['lead', 'lead/child', 'lead/child/lead', 'lead/child/lead/child'])
    expect(end?.text).toBe('Bye.')
    expect(lead.inputs[1]?.messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'user', 'user'])
  })

  test('ten levels deep', async () => {
    const chain = (n: number): Agent =>
      n === 10 ? talker('a10') : setSubAgents(transferring(`a${n}`, `a${n + 1}`), [chain(n + 1)])
    const { turns, end } = await runToEnd(chain(0))
    expect(turns.at(-1)).toBe('a0/a1/a2/a3/a4/a5/a6/a7/a8/a9/a10')
    expect([turns.length, end?.text]).toEqual([11, 'I am a10.'])
  })

  test('spans: that of the target is a child of the run, not of the agent before it', async () => {
    const started: RunInfo[] = []
    const open: string[] = []
    const callback = {
      name: 'spans',
      agent: {
        onStart(info: RunInfo) {
          started.push(info)
          open.push(info.name)
        },
        onEnd: (info: RunInfo) => void open.splice(open.indexOf(info.name), 1),
      },
    }
    await runToEnd(setSubAgents(transferring('lead', 'child'), [talker('child')]), hello, { callbacks: [callback] })
    expect(started).toMatchObject([
      { name: 'lead', parentSpanId: 'R/run' },
      { name: 'child', parentSpanId: 'R/run' },
    ])
    expect(new Set(started.map(({ spanId }) => spanId)).size).toBe(2)
    expect(open).toEqual([])
  })

  test('steps: the first agent has none, those after it are counted', async () => {
    const steps: string[] = []
    const noting = (name: string, to: string): Agent =>
      agentOf(name, async function* (ctx) {
        steps.push(ctx.step)
        if (steps.length < 4) yield { type: 'action', action: { type: 'transfer-to-agent', agentName: to } }
      })
    await runToEnd(setSubAgents(noting('lead', 'child'), [noting('child', 'lead')]))
    expect(steps).toEqual(['', 'agent:1', 'agent:2', 'agent:3'])
  })
})

describe('the agents that an agent can reach', () => {
  const unknown = (to: string, from: string) => ({
    code: 'TRANSFER_TARGET_UNKNOWN',
    message: `transfer failed: agent '${to}' not found when transferring from '${from}'`,
  })

  test.each([
    ['nobody of this name', 'stranger'],
    ['itself', 'lead'],
    ['a name with odd characters', `it's "odd" $& \n`],
    ['no name at all', ''],
    ['an object internal', '__proto__'],
    ['a grandchild', 'leaf'],
  ])('%s: TRANSFER_TARGET_UNKNOWN ends the run, with one error', async (_, to) => {
    const { errors, end, turns } = await runToEnd(
      setSubAgents(transferring('lead', to), [setSubAgents(talker('child'), [talker('leaf')])]),
    )
    expect(errors).toMatchObject([unknown(to, 'lead')])
    expect(end).toMatchObject({ outcome: 'failed', error: unknown(to, 'lead') })
    expect(turns).toEqual(['lead'])
  })

  test('a sibling is unknown', async () => {
    const tree = setSubAgents(transferring('lead', 'a'), [transferring('a', 'b'), talker('b')])
    expect((await runToEnd(tree)).errors).toMatchObject([unknown('b', 'a')])
  })

  test('an agent without a tree cannot reach any agent', async () => {
    expect((await runToEnd(agentWithOptions(transferring('a', 'b'), {}))).errors).toMatchObject([unknown('b', 'a')])
  })

  test('a child whose name is odd is reached', async () => {
    const odd = `it's "odd" $& \n 天气`
    const { turns } = await runToEnd(setSubAgents(scriptedAgent('lead', [transfer(odd)]), [talker(odd)]))
    expect(turns).toEqual(['lead', `lead/${odd}`])
  })

  test('the parent is not, where that is disallowed: neither tool nor instruction nor lookup know it', async () => {
    const offered: unknown[] = []
    const child = agentOf('child', async function* (_ctx, { additions }) {
      offered.push(additions)
      yield { type: 'action', action: { type: 'transfer-to-agent', agentName: 'lead' } }
    })
    const tree = setSubAgents(transferring('lead', 'child'), [
      agentWithOptions(child, { disallowTransferToParent: true }),
    ])
    expect((await runToEnd(tree)).errors).toMatchObject([unknown('lead', 'child')])
    expect(offered).toEqual([undefined])
  })

  test('own children stay, where the parent is disallowed', async () => {
    const mid = scriptedAgent('mid', [transfer('leaf')])
    const tree = setSubAgents(transferring('lead', 'mid'), [
      agentWithOptions(setSubAgents(mid, [talker('leaf')]), { disallowTransferToParent: true }),
    ])
    expect((await runToEnd(tree)).turns).toEqual(['lead', 'lead/mid', 'lead/mid/leaf'])
    expect(mid.inputs[0]?.additions?.instruction).not.toContain('lead')
  })

  test('run on its own, a part of a tree still reaches its parent', async () => {
    const child = agentWithOptions(transferring('child', 'lead'), {})
    setSubAgents(talker('lead'), [child])
    expect((await runToEnd(child)).turns).toEqual(['child', 'child/lead'])
  })
})

describe('what steers', () => {
  const target = () => [talker('a'), talker('b')]

  test('of several transfers the last', async () => {
    const to = (agentName: string) => ({ type: 'transfer-to-agent', agentName }) as const
    expect((await runToEnd(setSubAgents(yielding('lead', to('a'), to('b')), target()))).turns).toEqual([
      'lead',
      'lead/b',
    ])
    const both = scriptedAgent('lead', [[...transfer('a'), ...transfer('b')]])
    expect((await runToEnd(setSubAgents(both, target()))).turns).toEqual(['lead', 'lead/b'])
  })

  test('a custom action and what is said after it do not clear the last action', async () => {
    const lead = agentOf('lead', async function* (ctx) {
      yield { type: 'action', action: { type: 'transfer-to-agent', agentName: 'a' } }
      yield { type: 'action', action: { type: 'custom', name: 'x' } }
      ctx.state.set('k', 1)
      yield { type: 'custom', name: 'y', data: null }
    })
    expect((await runToEnd(setSubAgents(lead, target()))).turns).toEqual(['lead', 'lead/a'])
  })

  test('an exit after a transfer ends the run', async () => {
    const lead = yielding('lead', { type: 'transfer-to-agent', agentName: 'a' }, { type: 'exit', result: 'X' })
    const { turns, end } = await runToEnd(setSubAgents(lead, target()))
    expect([turns, end?.output]).toEqual([['lead'], 'X'])
  })

  test('not a transfer of an agent that failed', async () => {
    const lead = agentOf('lead', async function* () {
      yield { type: 'action', action: { type: 'transfer-to-agent', agentName: 'a' } }
      throw new KernelError('MINE', 'mine: no')
    })
    const { turns, errors } = await runToEnd(setSubAgents(lead, target()))
    expect([turns, errors]).toMatchObject([['lead'], [{ code: 'MINE' }]])
  })
})

describe('the budget', () => {
  const pingPong = () => setSubAgents(transferring('ping', 'pong'), [transferring('pong', 'ping')])

  test('of 25 transfers stops agents that transfer in circles', async () => {
    const { turns, errors } = await runToEnd(pingPong())
    expect([turns.length, errors]).toMatchObject([
      26,
      [{ code: 'TRANSFER_LIMIT', details: { from: 'pong', to: 'ping' } }],
    ])
  })

  test('is of one run: the next has its own', async () => {
    const agent = pingPong()
    await runToEnd(agent)
    expect((await runToEnd(agent)).turns).toHaveLength(26)
  })
})
