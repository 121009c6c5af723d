import {
  type AgentAction,
  type AgentHandler,
  type Message,
  type Tool,
  type ToolMessage,
  withToolsFunc,
} from '@troupe/kernel'
import { beforeEach, describe, expect, test } from 'vitest'
import {
  brief,
  calling,
  expectSound,
  type FinishedRun,
  noUnhandledRejection,
  runAgent,
  tool,
  user,
} from '../chat-model.fixture.ts'
import { exitTool } from '../index.ts'

beforeEach(noUnhandledRejection)

const acting = (name: string, action: AgentAction, more: Partial<Tool> = {}): Tool =>
  tool(name, (_, ctx) => ctx.sendAction(action), more)
const exit = (name: string, result: string = name) => acting(name, { type: 'exit', result })
const transfer = (name: string, agentName: string = name) => acting(name, { type: 'transfer-to-agent', agentName })
const breakLoop = acting('break', { type: 'break-loop' })
const direct = { tool: tool('direct'), returnDirectly: true }
const slow = tool('slow', undefined, { longRunning: true })
const ask = tool('ask', async (_, ctx) => `answered ${await ctx.interrupt({ reason: 'input' })}`)

const actions = ({ events }: FinishedRun) => events.flatMap((event) => (event.type === 'action' ? [event.action] : []))
const result = (callId: string, content = `${callId} result`): ToolMessage => ({
  id: `${callId}-r`,
  role: 'tool',
  callId,
  name: callId,
  content,
})

describe('return-directly', () => {
  test('per tool: the result is the text of the run and its last result; the model is not asked again', async () => {
    const finished = await runAgent([calling('direct')], { tools: [direct] })
    expect([finished.end?.outcome, finished.end?.text, finished.requests.length]).toEqual([
      'complete',
      'direct done',
      1,
    ])
    expect(actions(finished)).toEqual([])
  })

  test('per call: direct overrides the tool either way', async () => {
    const yes = tool('t', () => ({ content: 'Now.', direct: true }))
    const no = { tool: tool('t', () => ({ content: 'Later.', direct: false })), returnDirectly: true }
    expect((await runAgent([calling('t'), 'Done.'], { tools: [yes] })).end?.text).toBe('Now.')
    expect((await runAgent([calling('t'), 'Done.'], { tools: [no] })).end?.text).toBe('Done.')
  })

  test('every call of the turn settles first, and the direct result comes last', async () => {
    const gate = Promise.withResolvers<void>()
    const other = tool('other', async () => {
      await gate.promise
      return 'other done'
    })
    const opening = tool('direct', () => {
      queueMicrotask(gate.resolve)
      return 'direct done'
    })
    const open = { tool: opening, returnDirectly: true }
    const { toolEnds, end, history } = await runAgent([calling('direct', 'other')], { tools: [open, other] })
    expect(toolEnds.map(({ callId }) => callId)).toEqual(['other', 'direct'])
    expect([end?.text, brief(history).at(-1)]).toEqual(['direct done', 'tool direct done'])
  })

  test('several: the last listed wins', async () => {
    const { end, toolEnds } = await runAgent([calling('d1', 'd2', 't')], {
      tools: [...['d1', 'd2'].map((name) => ({ tool: tool(name), returnDirectly: true })), tool('t')],
    })
    expect([end?.text, toolEnds.at(-1)?.callId]).toEqual(['d2 done', 'd2'])
  })

  test('a failed call of a return-directly tool goes back to the model', async () => {
    const failing = tool('t', () => {
      throw new Error('no')
    })
    const { end } = await runAgent([calling('t'), 'Sorry.'], { tools: [{ tool: failing, returnDirectly: true }] })
    expect(end?.text).toBe('Sorry.')
  })

  test('a handler may set it for a tool', async () => {
    const set = withToolsFunc((_, tools) => tools.map((meta) => ({ ...meta, returnDirectly: meta.tool.name === 't' })))
    expect((await runAgent([calling('t')], { tools: [tool('t')], handlers: [set] })).end?.text).toBe('t done')
  })
})

describe('the exit tool', () => {
  test('is called exit and takes final_result; its result is action and output of the run', async () => {
    const turn = { toolCalls: [{ name: 'exit', arguments: { final_result: 'The end.' } }] }
    const finished = await runAgent([turn], { exit: true })
    expect(finished.requests[0]?.tools).toMatchObject([
      { name: 'exit', parameters: { type: 'object', required: ['final_result'] } },
    ])
    expect(actions(finished)).toEqual([{ type: 'exit', result: 'The end.' }])
    expect(finished.end).toMatchObject({ outcome: 'complete', output: 'The end.' })
    expect([finished.requests.length, finished.toolEnds.length]).toEqual([1, 1])
  })

  test('needs its final_result', async () => {
    const finished = await runAgent([calling('exit'), 'Oh.'], { tools: [exitTool()] })
    expect(finished.toolEnds).toMatchObject([{ status: 'failed', error: { code: 'VALIDATION_FAILED' } }])
    expect([actions(finished), finished.end?.text]).toEqual([[], 'Oh.'])
  })

  test('may be your own', async () => {
    const finished = await runAgent([calling('stop')], { exit: exit('stop', 'Stopped.') })
    expect(finished.end).toMatchObject({ outcome: 'complete', output: 'Stopped.' })
  })

  test('is not there unless asked for', async () => {
    expect((await runAgent(['Hi.'])).requests[0]?.tools).toEqual([])
  })
})

describe('7: every call settles first, then precedence', () => {
  const tools = [ask, slow, exit('exit'), transfer('transfer'), breakLoop, direct, tool('plain')]
  const order = ['ask', 'slow', 'exit', 'transfer', 'break', 'direct', 'plain']
  const decision = (finished: FinishedRun) => {
    const [action] = actions(finished)
    if (action) return action.type
    if (finished.end?.openCallIds) return 'open'
    return finished.requests.length > 1 ? 'model' : 'direct'
  }
  const decisions: Record<string, string> = {
    ask: 'interrupt',
    slow: 'open',
    exit: 'exit',
    transfer: 'transfer-to-agent',
    break: 'break-loop',
    direct: 'direct',
    plain: 'model',
  }
  const pairs = order.flatMap((higher, i) => order.slice(i + 1).map((lower) => [higher, lower] as const))

  test.each(pairs)('%s outranks %s, in whichever order they are called', async (higher, lower) => {
    for (const names of [
      [higher, lower],
      [lower, higher],
    ]) {
      const finished = await runAgent([calling(...names), 'Model.'], { tools }, undefined, { canInterrupt: true })
      expect(decision(finished)).toBe(decisions[higher])
      expect(actions(finished).length).toBeLessThanOrEqual(1)
      expectSound(finished)
      const open = ['ask', 'slow']
      expect(finished.toolEnds.map(({ callId }) => callId).toSorted()).toEqual(
        names.filter((name) => !open.includes(name)).toSorted(),
      )
    }
  })

  test.each([
    ['exit', [exit('x1'), exit('x2')], { type: 'exit', result: 'x2' }],
    ['transfer', [transfer('x1'), transfer('x2')], { type: 'transfer-to-agent', agentName: 'x2' }],
  ] as const)('several of one kind (%s): the last listed wins, whichever settles last', async (_, both, expected) => {
    const gate = Promise.withResolvers<void>()
    const [first, second] = both
    const slowFirst: Tool = {
      ...first,
      async invoke(args, ctx, call) {
        await gate.promise
        return first.invoke?.(args, ctx, call)
      },
    }
    const fast: Tool = {
      ...second,
      invoke(args, ctx, call) {
        gate.resolve()
        return second.invoke?.(args, ctx, call)
      },
    }
    expect(actions(await runAgent([calling('x1', 'x2')], { tools: [slowFirst, fast] }))).toEqual([expected])
  })

  test('several actions of one call: the strongest counts', async () => {
    const both = tool('both', (_, ctx) => {
      ctx.sendAction({ type: 'exit', result: 'Out.' })
      ctx.sendAction({ type: 'break-loop' })
    })
    expect(actions(await runAgent([calling('both')], { tools: [both] }))).toEqual([{ type: 'exit', result: 'Out.' }])
  })

  test('a custom action is shown and the run goes on', async () => {
    const finished = await runAgent([calling('c'), 'Done.'], {
      tools: [acting('c', { type: 'custom', name: 'ping', data: 1 })],
    })
    expect(actions(finished)).toEqual([{ type: 'custom', name: 'ping', data: 1 }])
    expect(finished.end?.text).toBe('Done.')
  })

  test('a transfer beside an open long-running call is refused with a tool error', async () => {
    const finished = await runAgent([calling('slow', 'transfer')], { tools })
    expect(finished.toolEnds).toMatchObject([{ callId: 'transfer', status: 'failed', error: expect.anything() }])
    expect([actions(finished), finished.end?.openCallIds]).toEqual([[], ['slow']])
  })

  test.each([
    ['exit', 'exit'],
    ['transfer', 'transfer-to-agent'],
    ['break', 'break-loop'],
  ] as const)('%s outranked by an interrupt is kept and applied on continuation', async (name, type) => {
    const settings = { canInterrupt: true }
    const first = await runAgent([calling('ask', name)], { tools }, undefined, settings)
    const second = await runAgent([], { tools }, first.resume({ ask: 'yes' }), { ...settings, runId: 'R2' })
    expect(second.end?.outcome).toBe('complete')
    expect(actions(second).map((action) => action.type)).toEqual([type])
    expect(second.toolEnds).toMatchObject([{ callId: 'ask', content: 'answered yes' }])
  })

  test('a direct result outranked by an interrupt is the last result of the resumed run', async () => {
    const settings = { canInterrupt: true }
    for (const names of [
      ['direct', 'ask'],
      ['ask', 'direct', 'plain'],
    ]) {
      const seen: string[] = []
      const listen: AgentHandler = { name: 'listen', afterAgent: (_, { text }) => void seen.push(text) }
      const options = { tools, handlers: [listen] }
      const first = await runAgent([calling(...names)], options, undefined, settings)
      const second = await runAgent([], options, first.resume({ ask: 'yes' }), { ...settings, runId: 'R2' })
      expect([second.end?.outcome, second.requests.length]).toEqual(['complete', 0])
      expect([second.end?.text, seen.at(-1)]).toEqual(['direct done', 'direct done'])
    }
  })

  test('of one kind the last listed wins, also if an earlier one had to ask first', async () => {
    const settings = { canInterrupt: true }
    const late = tool('late', async (_, ctx) => {
      await ctx.interrupt({ reason: 'input' })
      ctx.sendAction({ type: 'exit', result: 'late' })
    })
    const options = { tools: [late, exit('exit')] }
    const first = await runAgent([calling('late', 'exit')], options, undefined, settings)
    const second = await runAgent([], options, first.resume({ late: 'yes' }), { ...settings, runId: 'R2' })
    expect(actions(second)).toEqual([{ type: 'exit', result: 'exit' }])
  })
})

describe('a long-running tool', () => {
  test('leaves its call open and ends the turn; siblings are answered', async () => {
    const started: string[] = []
    const long = tool('long', () => `${started.push('long')} is ignored`, { longRunning: true })
    const finished = await runAgent([calling('long', 'plain')], { tools: [long, tool('plain')] })
    expect(started).toEqual(['long'])
    expect(finished.toolEnds.map(({ callId }) => callId)).toEqual(['plain'])
    expect(finished.end).toMatchObject({ outcome: 'complete', openCallIds: ['long'] })
    expect(finished.requests).toHaveLength(1)
    expectSound(finished)
  })

  test('needs no body', async () => {
    const { invoke: _, ...bare } = tool('long', undefined, { longRunning: true })
    expect((await runAgent([calling('long')], { tools: [bare] })).end?.openCallIds).toEqual(['long'])
  })

  test('continues when the result arrives as a tool message', async () => {
    const first = await runAgent([calling('slow')], { tools: [slow] })
    const messages = [...first.history, result('slow', 'At last.')]
    const second = await runAgent(['Thanks.'], { tools: [slow] }, { messages }, { runId: 'R2' })
    expect(brief(second.requests[0]?.messages)).toEqual(['user Hello', 'assistant slow', 'tool At last.'])
    expect([second.end?.text, second.end?.openCallIds]).toEqual(['Thanks.', undefined])
  })

  test('waits for the rest while only some results have come', async () => {
    const tools = [slow, tool('slower', undefined, { longRunning: true })]
    const first = await runAgent([calling('slow', 'slower')], { tools })
    expect(first.end?.openCallIds).toEqual(['slow', 'slower'])
    const messages: Message[] = [...first.history, result('slower')]
    const second = await runAgent(['Too early.'], { tools }, { messages }, { runId: 'R2' })
    expect([second.requests.length, second.end?.openCallIds]).toEqual([0, ['slow']])
    const third = await runAgent(['Thanks.'], { tools }, { messages: [...messages, result('slow')] }, { runId: 'R3' })
    expect(brief(third.requests[0]?.messages).slice(2)).toEqual(['tool slow result', 'tool slower result'])
  })

  test('whose start fails is answered with the failure', async () => {
    const broken = tool(
      'long',
      () => {
        throw new Error('cannot start')
      },
      { longRunning: true },
    )
    const { toolEnds, end } = await runAgent([calling('long'), 'Sorry.'], { tools: [broken] })
    expect(toolEnds).toMatchObject([{ status: 'failed', error: { code: 'TOOL_FAILED' } }])
    expect([end?.text, end?.openCallIds]).toEqual(['Sorry.', undefined])
  })

  test('with invalid arguments is answered, not left open', async () => {
    const parameters = { type: 'object', required: ['x'] }
    const long = tool('long', undefined, { longRunning: true, parameters })
    const { toolEnds, end } = await runAgent([calling('long'), 'Sorry.'], { tools: [long] })
    expect(toolEnds).toMatchObject([{ status: 'failed', error: { code: 'VALIDATION_FAILED' } }])
    expect(end?.text).toBe('Sorry.')
  })

  test('whose call is still open when the user writes is answered neutrally before the model sees it', async () => {
    const first = await runAgent([calling('slow')], { tools: [slow] })
    const messages = [...first.history, user('Never mind.', 'u2')]
    const second = await runAgent(['All right.'], { tools: [slow] }, { messages }, { runId: 'R2' })
    expect(brief(second.requests[0]?.messages)).toEqual([
      'user Hello',
      'assistant slow',
      'tool The outcome of this call is not known.',
      'user Never mind.',
    ])
  })
})
