import { agentWithOptions, describe as describeTree, setSubAgents, TRANSFER_INSTRUCTION } from '@troupe/flow'
import { type Agent, KernelError, say } from '@troupe/kernel'
import { describe, expect, test } from 'vitest'
import { brief, calling, contextOfTransfer, scriptedTree, toAgent, transferTo } from './scripted-tree.fixture.ts'

const codeOf = (work: () => unknown): unknown => {
  try {
    return work()
  } catch (error) {
    return KernelError.is(error) ? `${error.code} ${error.message}` : error
  }
}

describe('descriptions are what a model routes by', () => {
  test('the instruction lists children in declared order, then the parent, below the own instruction', async () => {
    const { models, ask } = scriptedTree(
      { Router: [toAgent('Mid')], Mid: [toAgent('Leaf')], Leaf: ['Hi.'], Other: [] },
      ({ Router, Mid, Leaf, Other }) => setSubAgents(Router, [Other, setSubAgents(Mid, [Leaf])]),
      { with: { Mid: { instruction: 'Be brief.', description: 'Knows $& and $1.' } } },
    )
    await ask('Hi')
    const list = (...names: string[]) =>
      names
        .map((name) => {
          const description = name === 'Mid' ? 'Knows $& and $1.' : `${name} helps.`
          return `\n- Agent name: ${name}\n  Agent description: ${description}`
        })
        .join('')
    const expected = (...names: string[]) => TRANSFER_INSTRUCTION.split('{agents}').join(list(...names))
    expect(models.Router.requests[0]?.instruction).toBe(expected('Other', 'Mid'))
    expect(models.Mid.requests[0]?.instruction).toBe(`Be brief.\n\n${expected('Leaf', 'Router')}`)
    expect(models.Leaf.requests[0]?.instruction).toBe(expected('Mid'))
  })

  test('there is one tool, however many agents there are', async () => {
    const names = Array.from({ length: 20 }, (_, i) => `Agent${i}`)
    const scripts = { Router: ['Hi.'], ...Object.fromEntries(names.map((name) => [name, []])) } as Record<
      string,
      string[]
    >
    const { models, ask } = scriptedTree(scripts, ({ Router, ...children }) =>
      setSubAgents(Router as Agent, Object.values(children)),
    )
    await ask('Hi')
    const [tool, ...others] = models.Router?.requests[0]?.tools ?? []
    expect([tool?.name, others]).toEqual(['transfer_to_agent', []])
    expect(tool?.parameters).toMatchObject({ properties: { agent_name: { enum: names } } })
  })

  test('an agent alone has neither tool nor instruction', async () => {
    const { models, ask } = scriptedTree({ Solo: ['Hi.'] }, ({ Solo }) => Solo, {
      with: { Solo: { instruction: 'Be.' } },
    })
    await ask('Hi')
    expect(models.Solo.requests[0]).toMatchObject({ instruction: 'Be.', tools: [] })
  })
})

describe('exit', () => {
  test('ends the run with its result, also after going to a child and back', async () => {
    const done = calling({ id: 'x', name: 'exit', arguments: { final_result: 'All done.' } })
    const { ask, models } = scriptedTree(
      { Router: [toAgent('A'), done], A: [toAgent('Router')] },
      ({ Router, A }) => setSubAgents(Router, [A]),
      { with: { Router: { exit: true } } },
    )
    const { end, actions } = await ask('Hi')
    expect(end).toMatchObject({ outcome: 'complete', text: 'All done.', output: 'All done.' })
    expect(actions.at(-1)).toEqual({ type: 'exit', result: 'All done.' })
    expect(models.Router.requests).toHaveLength(2)
  })

  test('of a child ends the run, and the next question finds a sound thread', async () => {
    const done = calling({ id: 'x', name: 'exit', arguments: { final_result: 'All done.' } })
    const { ask, models } = scriptedTree(
      { Router: [toAgent('A'), 'Again?'], A: [done] },
      ({ Router, A }) => setSubAgents(Router, [A]),
      { with: { A: { exit: true } } },
    )
    expect((await ask('Hi')).text).toBe('All done.')
    expect((await ask('And?')).text).toBe('Again?')
    expect(brief(models.Router.requests[1]?.messages).slice(3)).toEqual([
      'user For context: [A] called tool: `exit` with arguments: {"final_result":"All done."}.',
      'user For context: [A] `exit` tool returned result: All done..',
      'user And?',
    ])
  })
})

describe('what can be observed', () => {
  test('every event has its agent and path, which is enough for a readable log', async () => {
    const { ask } = scriptedTree(
      { Router: [toAgent('Mid')], Mid: [toAgent('Leaf')], Leaf: ['Hi.'] },
      ({ Router, Mid, Leaf }) => setSubAgents(Router, [setSubAgents(Mid, [Leaf])]),
    )
    const { events } = await ask('Hi')
    const log = events.flatMap((event) =>
      event.type === 'action' || event.type === 'agent-end'
        ? [`${event.agentName} [${event.runPath}] ${event.type === 'action' ? JSON.stringify(event.action) : 'end'}`]
        : [],
    )
    expect(log).toEqual([
      'Router [] {"type":"transfer-to-agent","agentName":"Mid"}',
      'Router [] end',
      'Mid [Router] {"type":"transfer-to-agent","agentName":"Leaf"}',
      'Mid [Router] end',
      'Leaf [Router,Mid] end',
    ])
    expect(JSON.parse(JSON.stringify(events))).toEqual(events)
  })

  test('the text of a child streams while it is made, not when it is done', async () => {
    const tree = scriptedTree(
      { Router: [toAgent('A')], A: [{ text: ['One', 'Two'], reasoning: 'Hm', hang: 'mid' }] },
      ({ Router, A }) => setSubAgents(Router, [A]),
    )
    const deltas: string[] = []
    for await (const event of tree.runner.query('Hi')) {
      if (event.type === 'text-delta' || event.type === 'reasoning-delta') {
        deltas.push(`${event.agentName} ${event.delta}`)
        break
      }
    }
    expect(deltas).toEqual(['A Hm'])
  })
})

describe('flexibility', () => {
  test('disallowTransferToParent: neither offered nor possible', async () => {
    const { ask, models } = scriptedTree(
      { Router: [toAgent('A')], A: [toAgent('Router')] },
      ({ Router, A }) => setSubAgents(Router, [agentWithOptions(A, { disallowTransferToParent: true })]),
      { with: { Router: { exit: true } } },
    )
    const { errors, outcome } = await ask('Hi')
    // The model calls a tool it does not have; it gets an error, and its script ends there.
    expect(models.A.requests[0]).toMatchObject({ tools: [], instruction: '' })
    expect(brief(models.A.requests[1]?.messages).at(-1)).toMatch(/^tool transfer_to_agent: Error: .*no such tool/)
    expect([outcome, errors.map(({ code }) => code)]).toEqual(['failed', ['MODEL_FAILED']])
  })

  test('a child with children of its own that may not go up is refused by the flow', async () => {
    const { ask } = scriptedTree({ Router: [toAgent('A')], A: [toAgent('Router')], B: [] }, ({ Router, A, B }) =>
      setSubAgents(Router, [setSubAgents(agentWithOptions(A, { disallowTransferToParent: true }), [B])]),
    )
    const { errors } = await ask('Hi')
    expect(errors).toMatchObject([
      {
        code: 'TRANSFER_TARGET_UNKNOWN',
        message: "transfer failed: agent 'Router' not found when transferring from 'A'",
      },
    ])
  })

  test('agents cannot be sub-agents of each other', () => {
    const tree = scriptedTree({ A: [], B: [] }, ({ A }) => A)
    const build = () =>
      scriptedTree({ A: [], B: [] }, ({ A, B }) => {
        const [a, b] = [agentWithOptions(A, {}), agentWithOptions(B, {})]
        setSubAgents(a, [b])
        return setSubAgents(b, [a])
      })
    expect(tree.runner.agent.name).toBe('A')
    expect(codeOf(build)).toMatch(/^CONFIG_INVALID .*A is above it/)
  })

  test('sub-agents come and go until the first run, then the tree is frozen', async () => {
    const { runner, ask, models } = scriptedTree({ Router: ['Hi.'], A: [], B: [] }, ({ Router, A, B }) => {
      const root = setSubAgents(Router, [A])
      return setSubAgents(root, [B])
    })
    await ask('Hi')
    expect(describeTree(runner.agent).subAgents?.map(({ name }) => name)).toEqual(['B'])
    expect(models.Router.requests[0]?.instruction).not.toContain('Agent name: A')
    expect(codeOf(() => setSubAgents(runner.agent, []))).toMatch(/^TREE_FROZEN/)
  })

  test('an agent of another kind between chat agents: gets the tool, transfers, is seen as context', async () => {
    const given: string[] = []
    const custom: Agent = {
      name: 'Custom',
      description: 'Made by hand.',
      acceptsAdditions: true,
      async *run({ messages, additions }, ctx) {
        given.push(...brief(messages), ...(additions?.tools ?? []).map(({ tool }) => tool.name))
        yield* say(ctx, 'By hand.')
        yield { type: 'action', action: { type: 'transfer-to-agent', agentName: 'Leaf' } }
      },
    }
    const { ask, models } = scriptedTree({ Router: [toAgent('Custom')], Leaf: ['The end.'] }, ({ Router, Leaf }) =>
      setSubAgents(Router, [setSubAgents(custom, [Leaf])]),
    )
    const { text, turns } = await ask('Hi')
    expect([text, turns]).toEqual(['The end.', ['Router', 'Router/Custom', 'Router/Custom/Leaf']])
    expect(given).toEqual(['user Hi', ...contextOfTransfer('Router', 'Custom'), 'transfer_to_agent'])
    expect(brief(models.Leaf.requests[0]?.messages).at(-1)).toBe('user For context: [Custom] said: By hand..')
  })
})

describe('safety', () => {
  test('agents that transfer to each other for ever are stopped, with a sound thread', async () => {
    const { ask, models, thread } = scriptedTree(
      { Router: Array(20).fill(toAgent('A')), A: Array(20).fill(toAgent('Router')) },
      ({ Router, A }) => setSubAgents(Router, [A]),
      { runner: { limits: { transfers: 5 } } },
    )
    const { errors, turns } = await ask('Hi')
    expect(errors.map(({ code }) => code)).toEqual(['TRANSFER_LIMIT'])
    expect(turns).toHaveLength(6)
    expect((await thread())?.openCalls).toEqual([])
    await ask('Again')
    expect(models.Router.requests.length).toBe(6)
  })

  test('after a transfer the agent that made it is not asked again', async () => {
    const { ask, models } = scriptedTree(
      { Router: [calling(transferTo('A')), 'Too much.'], A: ['The end.'] },
      ({ Router, A }) => setSubAgents(Router, [A]),
    )
    expect((await ask('Hi')).text).toBe('The end.')
    expect(models.Router.requests).toHaveLength(1)
  })
})
