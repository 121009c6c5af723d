import type { AgentAction, Message, Tool, ToolMessage } from '@troupe/kernel'
import { beforeEach, describe, expect, test } from 'vitest'
import {
  calling,
  expectSound,
  type FinishedRun,
  noUnhandledRejection,
  type Options,
  runAgent,
  tool,
  user,
} from '../chat-model.fixture.ts'

beforeEach(noUnhandledRejection)

const acting = (name: string, action: AgentAction, more: Partial<Tool> = {}): Tool =>
  tool(name, (_, ctx) => ctx.sendAction(action), more)
const exit = (name: string, result: string = name) => acting(name, { type: 'exit', result })
const breakLoop = acting('break', { type: 'break-loop' })
const direct = { tool: tool('direct'), returnDirectly: true }
const slow = tool('slow', undefined, { longRunning: true })
const ask = tool('ask', async (_, ctx) => `answered ${await ctx.interrupt({ reason: 'input' })}`)
const result = (callId: string): ToolMessage => ({
  id: `${callId}-r`,
  role: 'tool',
  callId,
  name: callId,
  content: 'Later.',
})
const actions = ({ events }: FinishedRun) => events.flatMap((event) => (event.type === 'action' ? [event.action] : []))

describe('7: the action of a call beside an open one is kept in its result and applied when the other results have arrived', () => {
  const goOn = (first: FinishedRun, options: Options, ...results: readonly ToolMessage[]) =>
    runAgent(['Model.'], options, { messages: stored([...first.history, ...results]) }, { runId: 'R2' })
  const stored = (messages: readonly Message[]): Message[] => JSON.parse(JSON.stringify(messages))

  test.each([
    ['our exit tool', { exit: true }, { type: 'exit', result: 'Done.' }],
    ['an exit tool of your own', { exit: exit('exit', 'Own.') }, { type: 'exit', result: 'Own.' }],
    ['a tool that exits with a result of its own', { tools: [slow, exit('exit', 'X')] }, { type: 'exit', result: 'X' }],
    ['break-loop', { tools: [slow, acting('exit', { type: 'break-loop' })] }, { type: 'break-loop' }],
  ] satisfies [string, Options, AgentAction][])('%s', async (_, given, action) => {
    const options: Options = { tools: [slow], ...given }
    for (const order of [1, -1]) {
      const toolCalls = [
        { id: 'slow', name: 'slow' },
        { id: 'exit', name: 'exit', arguments: { final_result: 'Done.' } },
      ].toSorted((a, b) => order * a.name.localeCompare(b.name))
      const first = await runAgent([{ toolCalls }], options)
      expect([actions(first), first.end?.openCallIds]).toEqual([[], ['slow']])
      expect(first.toolEnds).toMatchObject([{ callId: 'exit', kept: { actions: [action] } }])
      const second = await goOn(first, options, result('slow'))
      expect([actions(second), second.requests.length]).toEqual([[action], 0])
      expectSound(second)
    }
  })

  test.each([
    ['of the tool', { tool: tool('direct'), returnDirectly: true }],
    ['of the call', tool('direct', () => ({ content: 'direct done', direct: true }))],
  ])('a direct result, %s: it is the text of the run', async (_, entry) => {
    const options = { tools: [slow, entry] }
    const first = await runAgent([calling('slow', 'direct')], options)
    expect(first.toolEnds).toMatchObject([{ kept: { actions: [], direct: true } }])
    const second = await goOn(first, options, result('slow'))
    expect([second.end?.outcome, second.end?.text, second.requests.length]).toEqual(['complete', 'direct done', 0])
  })

  test('a call whose tool is direct but whose result is not goes back to the model', async () => {
    const not = { tool: tool('direct', () => ({ content: 'no', direct: false })), returnDirectly: true }
    const options = { tools: [slow, not] }
    const first = await runAgent([calling('slow', 'direct')], options)
    expect((await goOn(first, options, result('slow'))).end?.text).toBe('Model.')
  })

  test('precedence is the same as at once, and of one kind the last listed wins', async () => {
    const options = { tools: [slow, breakLoop, exit('x1'), exit('x2'), direct] }
    const first = await runAgent([calling('x1', 'x2', 'slow', 'break', 'direct')], options)
    expect(actions(await goOn(first, options, result('slow')))).toEqual([{ type: 'exit', result: 'x2' }])
  })

  test('a custom action is shown at once and not kept', async () => {
    const custom: AgentAction = { type: 'custom', name: 'ping' }
    const options = { tools: [slow, acting('c', custom)] }
    const first = await runAgent([calling('slow', 'c')], options)
    expect([actions(first), first.toolEnds[0]]).toEqual([[custom], expect.not.objectContaining({ kept: {} })])
    const second = await goOn(first, options, result('slow'))
    expect([actions(second), second.end?.text]).toEqual([[], 'Model.'])
  })

  test('nothing is kept where nothing stays open', async () => {
    const failing = tool('slow', () => Promise.reject(new Error('no')), { longRunning: true })
    for (const names of [['exit'], ['exit', 'plain'], ['slow', 'exit']]) {
      const { toolEnds, history } = await runAgent([calling(...names)], {
        tools: [failing, exit('exit'), tool('plain')],
      })
      expect(JSON.stringify([toolEnds, history])).not.toContain('kept')
    }
  })

  test('it stays kept while only some results have come', async () => {
    const options = { tools: [slow, tool('slower', undefined, { longRunning: true }), exit('exit')] }
    const first = await runAgent([calling('slow', 'exit', 'slower')], options)
    const second = await goOn(first, options, result('slow'))
    expect([actions(second), second.end?.openCallIds]).toEqual([[], ['slower']])
    const third = await goOn(first, options, result('slow'), result('slower'))
    expect(actions(third)).toEqual([{ type: 'exit', result: 'exit' }])
  })

  test('it survives an interrupt beside the open call', async () => {
    const options = { tools: [slow, ask, exit('exit')] }
    const settings = { canInterrupt: true }
    const first = await runAgent([calling('ask', 'slow', 'exit')], options, undefined, settings)
    const second = await runAgent([], options, first.resume({ ask: 'yes' }), { ...settings, runId: 'R2' })
    expect([actions(second), second.end?.openCallIds]).toEqual([[], ['slow']])
    expect(actions(await goOn(second, options, result('slow')))).toEqual([{ type: 'exit', result: 'exit' }])
  })

  test('it survives a long-running call that had to be approved first', async () => {
    const approved = tool('slow', undefined, { longRunning: true, needsApproval: () => true })
    const options = { tools: [approved, exit('exit')] }
    const settings = { canInterrupt: true }
    const first = await runAgent([calling('slow', 'exit')], options, undefined, settings)
    const answers = { slow: { approved: true } }
    const second = await runAgent([], options, first.resume(answers), { ...settings, runId: 'R2' })
    expect([actions(second), second.end?.openCallIds]).toEqual([[], ['slow']])
    expect(actions(await goOn(second, options, result('slow')))).toEqual([{ type: 'exit', result: 'exit' }])
  })

  test('a call that goes on after an interrupt keeps its action too, and cannot transfer, while another is open', async () => {
    const settings = { canInterrupt: true }
    for (const [action, kept] of [
      [{ type: 'exit', result: 1 }, true],
      [{ type: 'transfer-to-agent', agentName: 'b' }, false],
    ] satisfies [AgentAction, boolean][]) {
      const late = tool('late', async (_, ctx) => {
        await ctx.interrupt({ reason: 'input' })
        ctx.sendAction(action)
      })
      const options = { tools: [slow, late] }
      const first = await runAgent([calling('slow', 'late')], options, undefined, settings)
      const second = await runAgent([], options, first.resume({ late: 'yes' }), { ...settings, runId: 'R2' })
      expect(second.toolEnds).toMatchObject([{ callId: 'late', status: kept ? 'complete' : 'failed' }])
      expect(actions(await goOn(second, options, result('slow')))).toEqual(kept ? [action] : [])
    }
  })

  test('a long-running call cannot steer by itself: its action would be lost', async () => {
    const options = { tools: [acting('slow', { type: 'exit' }, { longRunning: true })] }
    const { toolEnds, end } = await runAgent([calling('slow'), 'Sorry.'], options)
    expect(toolEnds).toMatchObject([{ status: 'failed', error: { code: 'TOOL_FAILED' } }])
    expect(end?.text).toBe('Sorry.')
  })

  test('a user who writes first is answered by the model', async () => {
    const options = { tools: [slow, exit('exit')] }
    const first = await runAgent([calling('slow', 'exit')], options)
    const messages = [...first.history, result('slow'), user('And now?', 'u2')]
    const second = await runAgent(['Model.'], options, { messages }, { runId: 'R2' })
    expect([actions(second), second.end?.text]).toEqual([[], 'Model.'])
  })

  test('what another agent has kept is not done', async () => {
    const options = { tools: [slow, exit('exit')] }
    const first = await runAgent([calling('slow', 'exit')], options)
    const second = await goOn(first, { ...options, name: 'b' }, result('slow'))
    expect([actions(second), second.end?.text]).toEqual([[], 'Model.'])
  })
})
