import { chatModelAgent } from '@troupe/chat-model'
import { agentTool, parallel, setSubAgents } from '@troupe/flow'
import { historyBudget, toolCallLimit } from '@troupe/handlers'
import { KernelError, type RunInfo } from '@troupe/kernel'
import { type ScriptedModel, scriptedModel } from '@troupe/testkit'
import { describe, expect, test } from 'vitest'
import { brief, calling, contextOfTransfer, scriptedTree, toAgent } from './scripted-tree.fixture.ts'
import { asks, plain } from './tools.fixture.ts'

const broken = () => new KernelError('MODEL_FAILED', 'overloaded', { retryable: true })

describe('at the target of a transfer', () => {
  test('structured output is the output of the run; a wrong answer is corrected and in no history', async () => {
    const output = { type: 'object', properties: { degrees: { type: 'number' } }, required: ['degrees'] } as const
    const tree = scriptedTree(
      { Router: [toAgent('A'), 'Fine.'], A: ['warm', '{"degrees":25}'] },
      ({ Router, A }) => setSubAgents(Router, [A]),
      { with: { A: { output } } },
    )
    const { end } = await tree.ask('Hi')
    expect(end).toMatchObject({ outcome: 'complete', output: { degrees: 25 }, text: '{"degrees":25}' })
    expect(tree.models.A.requests[1]?.messages).toHaveLength(5)
    await tree.ask('And?')
    expect(brief(tree.models.Router.requests[1]?.messages)).toEqual([
      'user Hi',
      'assistant transfer_to_agent({"agent_name":"A"})',
      'tool transfer_to_agent: successfully transferred to agent [A]',
      'user For context: [A] said: {"degrees":25}.',
      'user And?',
    ])
  })

  test('output of an agent that then transfers is not the output of the run', async () => {
    const output = { type: 'object', properties: { n: { type: 'number' } }, required: ['n'] } as const
    const tree = scriptedTree(
      { Router: ['{"n":1}', toAgent('A')], A: ['Plain words.'] },
      ({ Router, A }) => setSubAgents(Router, [A]),
      { with: { Router: { output } } },
    )
    expect((await tree.ask('Hi')).end).toMatchObject({ output: { n: 1 } })
    expect((await tree.ask('And?')).end?.output).toBeUndefined()
  })

  test('a failed call is tried again; its partial output is not in any history', async () => {
    const flaky = { text: ['Half', ' an answer'], error: { at: 'mid', error: broken() } } as const
    const tree = scriptedTree(
      { Router: [toAgent('A')], A: [flaky, toAgent('B')], B: ['Whole.'] },
      ({ Router, A, B }) => setSubAgents(Router, [setSubAgents(A, [B])]),
      { with: { A: { retry: (_, attempt) => (attempt < 2 ? 0 : undefined) } } },
    )
    const { text, events } = await tree.ask('Hi')
    expect(text).toBe('Whole.')
    expect(events.filter((event) => event.type === 'message-end' && event.dropped)).toHaveLength(1)
    expect(brief(tree.models.B.requests[0]?.messages)).toEqual([
      'user Hi',
      ...contextOfTransfer('Router', 'A'),
      ...contextOfTransfer('A', 'B'),
    ])
  })

  test('a model that has failed for good gives way to the next, which can transfer', async () => {
    const second: ScriptedModel = scriptedModel([toAgent('Router')])
    const tree = scriptedTree(
      { Router: [toAgent('A'), 'Back.'], A: [{ error: { at: 'before', error: broken() } }] },
      ({ Router, A }) => setSubAgents(Router, [A]),
      { with: { A: { fallbacks: [second] } } },
    )
    expect((await tree.ask('Hi')).text).toBe('Back.')
    expect(second.requests[0]?.tools.map(({ name }) => name)).toEqual(['transfer_to_agent'])
  })

  test('a model that fails for good ends the run once, and the next message works', async () => {
    const tree = scriptedTree(
      { Router: [toAgent('A'), 'Fine.'], A: [{ error: { at: 'before', error: broken() } }] },
      ({ Router, A }) => setSubAgents(Router, [A]),
    )
    const { errors, end } = await tree.ask('Hi')
    expect([errors.length, end?.error?.message]).toEqual([1, 'overloaded'])
    expect((await tree.ask('And?')).text).toBe('Fine.')
  })
})

describe('handlers in a tree', () => {
  test('toolCallLimit counts for its agent, also when it was interrupted', async () => {
    const log: string[] = []
    const limited = { tools: [plain(log), asks()], handlers: [toolCallLimit({ perTool: { plain: 1 } })] }
    const tree = scriptedTree(
      { Router: [calling('plain'), toAgent('A')], A: [calling('plain', 'asks'), calling('plain'), 'Enough.'] },
      ({ Router, A }) => setSubAgents(Router, [A]),
      { with: { Router: limited, A: limited } },
    )
    await tree.ask('Hi')
    await tree.move()
    const { text } = await tree.answerAll('yes')
    expect([text, log]).toEqual(['Enough.', ['plain', 'plain']])
    expect(brief(tree.models.A.requests[2]?.messages).at(-1)).toMatch(/may be called 1 times, got call 2/)
  })

  test('toolCallLimit continues to count when its agent runs again', async () => {
    const log: string[] = []
    const tree = scriptedTree(
      { Router: [calling('plain'), toAgent('A'), calling('plain'), 'Enough.'], A: [toAgent('Router')] },
      ({ Router, A }) => setSubAgents(Router, [A]),
      { with: { Router: { tools: [plain(log)], handlers: [toolCallLimit({ perTool: { plain: 1 } })] } } },
    )
    await tree.ask('Hi')
    expect(log).toEqual(['plain'])
  })

  test('historyBudget cuts for its agent alone and leaves no call without its result', async () => {
    const tree = scriptedTree(
      { Router: [calling('plain'), toAgent('A'), 'Fine.'], A: [calling('plain'), 'Enough.'] },
      ({ Router, A }) => setSubAgents(Router, [A]),
      {
        with: {
          Router: { tools: [plain([])] },
          A: { tools: [plain([])], handlers: [historyBudget({ maxTokens: 4, count: () => 1 })] },
        },
      },
    )
    await tree.ask('Hi')
    await tree.ask('And?')
    expect(tree.models.A.requests.map(({ messages }) => messages.length <= 4)).toEqual([true, true])
    expect(tree.models.Router.requests[2]?.messages).toHaveLength(9)
  })

  test('historyBudget leaves the question of the user to the agent that has to answer it', async () => {
    const tree = scriptedTree(
      { Router: [calling('plain'), toAgent('A')], A: ['Enough.'] },
      ({ Router, A }) => setSubAgents(Router, [A]),
      {
        with: {
          Router: { tools: [plain([])] },
          A: { handlers: [historyBudget({ maxTokens: 3, count: () => 1 })] },
        },
      },
    )
    await tree.ask('What is the weather in Beijing?')
    expect(brief(tree.models.A.requests[0]?.messages)).toContain('user What is the weather in Beijing?')
  })
})

describe('what is counted', () => {
  const usage = (inputTokens: number) => ({ usage: { inputTokens, outputTokens: 1 } })

  test('the tokens of all agents of a run, of branches and of agents in tools', async () => {
    const model = scriptedModel([{ text: 'Inner.', ...usage(1_000) }])
    const inner = agentTool(chatModelAgent({ name: 'Inner', model }))
    const asking = calling({ id: 'i', name: 'Inner', arguments: { request: 'x' } })
    const tree = scriptedTree(
      {
        Router: [{ ...toAgent('Both'), ...usage(1) }],
        A: [
          { ...asking, ...usage(10) },
          { text: 'A.', ...usage(100) },
        ],
        B: [{ text: 'B.', ...usage(10_000) }],
      },
      ({ Router, A, B }) => setSubAgents(Router, [parallel({ name: 'Both', agents: [A, B] })]),
      { with: { A: { tools: [inner] } } },
    )
    expect((await tree.ask('Hi')).end?.usage).toEqual({ inputTokens: 11_111, outputTokens: 5 })
  })

  test('each agent has its span under the run, with its models and tools below', async () => {
    const spans: RunInfo[] = []
    const ends: string[] = []
    const hooks = {
      onStart: (info: RunInfo) => void spans.push(info),
      onEnd: ({ component, name }: RunInfo) => void ends.push(`${component} ${name}`),
    }
    const spy = { name: 'spy', run: hooks, agent: hooks, model: hooks, tool: hooks }
    const tree = scriptedTree(
      { Router: [calling('plain'), toAgent('A')], A: [calling('plain'), 'Done.'] },
      ({ Router, A }) => setSubAgents(Router, [A]),
      { with: { Router: { tools: [plain([])] }, A: { tools: [plain([])] } }, runner: { callbacks: [spy] } },
    )
    await tree.ask('Hi')
    const nameOf = (id: string | undefined) => spans.find(({ spanId }) => spanId === id)?.name
    expect(spans.map(({ component, name, parentSpanId }) => `${component} ${name} < ${nameOf(parentSpanId)}`)).toEqual([
      'run Router < undefined',
      'agent Router < Router',
      'model Router < Router',
      'tool plain < Router',
      'model Router < Router',
      'tool transfer_to_agent < Router',
      'agent A < Router',
      'model A < A',
      'tool plain < A',
      'model A < A',
    ])
    const run = spans[0]?.spanId
    expect(spans.filter(({ component }) => component === 'agent').map(({ parentSpanId }) => parentSpanId)).toEqual([
      run,
      run,
    ])
    expect(new Set(spans.map(({ spanId }) => spanId)).size).toBe(spans.length)
    expect(ends.toSorted()).toEqual(spans.map(({ component, name }) => `${component} ${name}`).toSorted())
  })
})
