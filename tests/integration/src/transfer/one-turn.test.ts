import { setSubAgents } from '@troupe/flow'
import { defineTool, type Tool } from '@troupe/kernel'
import { describe, expect, test } from 'vitest'
import { brief, calling, contextOfTransfer, scriptedTree, toAgent, transferTo } from './scripted-tree.fixture.ts'

const tool = (name: string, more: Partial<Tool> = {}): Tool =>
  defineTool({ name, description: name, parameters: { type: 'object' }, invoke: () => `${name} done`, ...more })
const slow = tool('slow', { longRunning: true })
const asks = tool('asks', {
  invoke: async (_, ctx) => `heard ${await ctx.interrupt({ reason: 'input', message: 'Well?' })}`,
})
const exit = { id: 'exit', name: 'exit', arguments: { final_result: 'Bye.' } }
const direct = { tool: tool('direct'), returnDirectly: true }

const makeTree = (turn: ReturnType<typeof calling>, ...after: (string | ReturnType<typeof calling>)[]) =>
  scriptedTree(
    { Router: [turn, ...after], A: ['I am A.', 'A again.'], B: ['I am B.'] },
    ({ Router, A, B }) => setSubAgents(Router, [A, B]),
    { with: { Router: { exit: true, tools: [tool('fast'), slow, asks, direct] } } },
  )
const statuses = ({ toolEnds }: { toolEnds: readonly { name: string; status: string }[] }) =>
  toolEnds.map(({ name, status }) => `${name} ${status}`)

describe('a transfer and other calls in one turn', () => {
  test('every call is done first, then the transfer; the target sees one line of both', async () => {
    const { ask, models } = makeTree(calling(transferTo('A'), 'fast'))
    const recorded = await ask('Hi')
    expect([recorded.text, recorded.started]).toEqual(['I am A.', ['transfer_to_agent', 'fast']])
    expect(models.Router.requests).toHaveLength(1)
    expect(brief(models.A.requests[0]?.messages)).toEqual([
      'user Hi',
      'user For context: [Router] called tool: `transfer_to_agent` with arguments: {"agent_name":"A"}. [Router] called tool: `fast` with arguments: {}.',
      contextOfTransfer('Router', 'A')[1],
      'user For context: [Router] `fast` tool returned result: fast done.',
    ])
  })

  test('two transfers: the last listed wins, both are answered', async () => {
    const tree = makeTree(calling(transferTo('A'), { ...transferTo('B'), id: 'second' }))
    const recorded = await tree.ask('Hi')
    expect([recorded.text, statuses(recorded)]).toEqual([
      'I am B.',
      ['transfer_to_agent complete', 'transfer_to_agent complete'],
    ])
    expect(recorded.actions).toEqual([{ type: 'transfer-to-agent', agentName: 'B' }])
  })

  test('beside a call that fails, it is done all the same', async () => {
    const { ask, models } = makeTree(calling('nonsense', transferTo('A')))
    expect((await ask('Hi')).text).toBe('I am A.')
    expect(brief(models.A.requests[0]?.messages)[2]).toMatch(/^user For context: \[Router\] `nonsense` tool returned/)
  })

  test('beside exit: exit wins, no other agent runs', async () => {
    for (const calls of [calling(exit, transferTo('A')), calling(transferTo('A'), exit)]) {
      const { ask, models } = makeTree(calls)
      expect((await ask('Hi')).end).toMatchObject({ outcome: 'complete', output: 'Bye.' })
      expect(models.A.requests).toEqual([])
    }
  })

  test('beside a return-directly call: the transfer wins', async () => {
    for (const calls of [calling('direct', transferTo('A')), calling(transferTo('A'), 'direct')]) {
      const { ask } = makeTree(calls)
      const recorded = await ask('Hi')
      expect([recorded.text, recorded.turns]).toEqual(['I am A.', ['Router', 'Router/A']])
    }
  })
})

describe('a transfer beside a long-running call', () => {
  test('is refused with a tool error; when the result has come, the model decides anew', async () => {
    const tree = makeTree(calling('slow', transferTo('A')), toAgent('A'))
    const recorded = await tree.ask('Hi')
    expect([recorded.outcome, recorded.open, statuses(recorded)]).toEqual([
      'complete',
      ['slow'],
      ['transfer_to_agent failed'],
    ])
    expect((await tree.thread())?.openCalls).toEqual([{ callId: 'slow', name: 'slow', agentName: 'Router' }])
    await tree.move()
    expect((await tree.results({ slow: 'At last.' })).text).toBe('I am A.')
    expect(brief(tree.models.Router.requests[1]?.messages).slice(2)).toEqual([
      'tool slow: At last.',
      'tool transfer_to_agent: Error: transfer: not possible while another call of this turn awaits its result',
    ])
  })

  test('exit beside it is kept, and done when the result has come, without asking the model', async () => {
    const tree = makeTree(calling('slow', exit))
    expect((await tree.ask('Hi')).open).toEqual(['slow'])
    await tree.move()
    const { end, actions } = await tree.results({ slow: 'At last.' })
    expect([end?.outcome, end?.text, actions]).toEqual(['complete', 'Bye.', [{ type: 'exit', result: 'Bye.' }]])
    expect(tree.models.Router.requests).toHaveLength(1)
  })

  test('a direct result beside it is kept, and is the text of the run that goes on', async () => {
    const tree = makeTree(calling('direct', 'slow'), 'Next.')
    expect((await tree.ask('Hi')).open).toEqual(['slow'])
    await tree.move()
    const { outcome, text } = await tree.results({ slow: 'At last.' })
    expect([outcome, text]).toEqual(['complete', 'direct done'])
    expect((await tree.ask('And?')).text).toBe('Next.')
    expect(brief(tree.models.Router.requests[1]?.messages).slice(2)).toEqual([
      'tool direct: direct done',
      'tool slow: At last.',
      'user And?',
    ])
  })
})

describe('a transfer beside a question', () => {
  test('is kept and done after the answer, in another process, without asking the model again', async () => {
    for (const calls of [calling('asks', transferTo('A')), calling(transferTo('A'), 'asks')]) {
      const tree = makeTree(calls)
      const first = await tree.ask('Hi')
      expect([first.outcome, statuses(first)]).toEqual(['interrupted', ['transfer_to_agent complete']])
      await tree.move()
      const second = await tree.answerAll('yes')
      expect([second.text, second.turns, second.started]).toEqual(['I am A.', ['Router', 'Router/A'], []])
      expect(tree.models.Router.requests).toHaveLength(1)
      expect(tree.models.A.requests[0]?.messages).toHaveLength(4)
    }
  })

  test('is not done any more when the user says something else instead', async () => {
    const tree = scriptedTree(
      { Router: [calling('asks', transferTo('A')), 'Fine.'], A: ['I am A.'] },
      ({ Router, A }) => setSubAgents(Router, [A]),
      { with: { Router: { tools: [asks] } }, runner: { pending: 'drop' } },
    )
    await tree.ask('Hi')
    const { text, turns } = await tree.ask('Never mind.')
    expect([text, turns]).toEqual(['Fine.', ['Router']])
  })

  test('a kept transfer is done once: who comes back to the router finds a model that is asked', async () => {
    const tree = scriptedTree(
      { Router: [calling('asks', transferTo('A')), 'Router again.'], A: [toAgent('Router')] },
      ({ Router, A }) => setSubAgents(Router, [A]),
      { with: { Router: { tools: [asks] } } },
    )
    await tree.ask('Hi')
    const { text, turns } = await tree.answerAll('yes')
    expect([text, turns]).toEqual(['Router again.', ['Router', 'Router/A', 'Router/A/Router']])
  })
})

describe('names', () => {
  test.each(['Nobody', 'Router', 'weird "name"\n[x]', '../A', '__proto__', 'a'])(
    'a transfer to %j ends the run with an error, and the next message works',
    async (name) => {
      const tree = scriptedTree({ Router: [toAgent(name), 'Fine.'], A: [] }, ({ Router, A }) =>
        setSubAgents(Router, [A]),
      )
      const { errors, outcome, end } = await tree.ask('Hi')
      const message = `transfer failed: agent '${name}' not found when transferring from 'Router'`
      expect([outcome, errors]).toMatchObject(['failed', [{ code: 'TRANSFER_TARGET_UNKNOWN', message }]])
      expect(end?.error).toMatchObject({ message })
      expect((await tree.ask('And?')).text).toBe('Fine.')
    },
  )

  test('a sibling is out of reach', async () => {
    const tree = scriptedTree({ Router: [toAgent('A')], A: [toAgent('B')], B: [] }, ({ Router, A, B }) =>
      setSubAgents(Router, [A, B]),
    )
    expect((await tree.ask('Hi')).errors[0]?.message).toBe(
      "transfer failed: agent 'B' not found when transferring from 'A'",
    )
  })

  test('odd characters in a name that exists are no matter', async () => {
    const odd = '天气 "agent" {}\\ $&'
    const tree = scriptedTree({ Router: [toAgent(odd)], [odd]: ['Sunny.'] }, ({ Router, [odd]: weather }) =>
      setSubAgents(Router, [weather]),
    )
    expect((await tree.ask('Hi')).text).toBe('Sunny.')
    expect(tree.models[odd].requests[0]?.messages[1]?.content).toBe(
      `For context: [Router] called tool: \`transfer_to_agent\` with arguments: ${JSON.stringify({ agent_name: odd })}.`,
    )
  })

  test.each([['{"agent_name"'], ['{}'], ['{"agent_name":""}'], ['{"agent_name":7}'], ['null'], ['[]'], ['"A"'], ['']])(
    'arguments %s are fed back, and the model does it right',
    async (args) => {
      const bad = calling({ id: 'bad', name: 'transfer_to_agent', arguments: [args] })
      const tree = makeTree(bad, toAgent('A'))
      const recorded = await tree.ask('Hi')
      expect([recorded.text, recorded.toolEnds.map(({ error }) => error?.code)]).toEqual([
        'I am A.',
        ['VALIDATION_FAILED', undefined],
      ])
      expect(tree.models.Router.requests).toHaveLength(2)
    },
  )

  test('a bad and a good transfer in one turn: the good one is done', async () => {
    const bad = { id: 'bad', name: 'transfer_to_agent', arguments: ['{'] }
    const tree = makeTree(calling(transferTo('A'), bad))
    const recorded = await tree.ask('Hi')
    expect([recorded.text, statuses(recorded).toSorted()]).toEqual([
      'I am A.',
      ['transfer_to_agent complete', 'transfer_to_agent failed'],
    ])
  })
})
