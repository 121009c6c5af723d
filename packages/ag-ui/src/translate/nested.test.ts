import type { AgentEvent, EventDraft, EventStamp } from '@troupe/kernel'
import { describe, expect, test } from 'vitest'
import { official, wireOf } from '../pipeline.fixture.ts'
import { call, message, result, run, stamped } from './events.fixture.ts'

const HELPER: EventStamp = {
  runId: 'R/tool:0:0',
  agentName: 'helper',
  runPath: ['root'],
  parentRunId: 'R',
  parentCallId: 'c1',
  origin: 'c1',
}
const INNER: EventStamp = {
  ...HELPER,
  runId: 'R/tool:0:0/tool:0:0',
  agentName: 'inner',
  parentRunId: 'R/tool:0:0',
  parentCallId: 'call-1',
  origin: 'c1/call-1',
}
const ASK = { id: 'c1', name: 'ask', arguments: '{}' }
const asking = [...call('m1', 'c1', 'ask', '{}'), message('m1', '', [ASK])]
const ended = (outcome: string, rest = {}) =>
  ({ type: 'run-end', outcome, text: '', usage: { inputTokens: 0, outputTokens: 0 }, ...rest }) as EventDraft

/** A run with a nested one in its only call. */
async function around(inside: readonly AgentEvent[], after: readonly EventDraft[] = [result('c1', 'done')], end = {}) {
  const [first, ...rest] = run([...asking, ...after], end) as [AgentEvent, ...AgentEvent[]]
  const events = [first, ...rest.slice(0, asking.length), ...inside, ...rest.slice(asking.length)]
  const wire = wireOf(events)
  await official(wire)
  return wire
}

const nested = (drafts: readonly EventDraft[], end: EventDraft = ended('complete'), stamp = HELPER) =>
  stamped([{ type: 'run-start' }, ...drafts, end], stamp)

describe('a nested run is a sub-agent', () => {
  test('with the call that it is nested in, and its events are tagged', async () => {
    const events = await around(nested([message('m2', 'Hello')], ended('complete', { output: { n: 1 } })))
    expect(events.slice(5, 10)).toEqual([
      {
        type: 'SUBAGENT_STARTED',
        subagentRunId: 'R/tool:0:0',
        name: 'helper',
        parentToolCallId: 'c1',
        parentMessageId: 'm1',
      },
      { type: 'TEXT_MESSAGE_START', messageId: 'm2', role: 'assistant', name: 'helper', subagentRunId: 'R/tool:0:0' },
      { type: 'TEXT_MESSAGE_CONTENT', messageId: 'm2', delta: 'Hello', subagentRunId: 'R/tool:0:0' },
      { type: 'TEXT_MESSAGE_END', messageId: 'm2', subagentRunId: 'R/tool:0:0' },
      {
        type: 'SUBAGENT_FINISHED',
        subagentRunId: 'R/tool:0:0',
        outcome: { type: 'success' },
        result: { n: 1 },
      },
    ])
  })

  test('its calls are known by the calls around them, also two levels down and in a second run', async () => {
    const ids = (runs: readonly AgentEvent[]) =>
      around(runs).then((events) => events.flatMap((event) => ('toolCallName' in event ? [event.toolCallId] : [])))
    const deep = nested([...call('m3', 'call-1', 's', '{}'), result('call-1', 'x')], ended('complete'), INNER)
    const [begin, ...rest] = nested([...call('m2', 'call-1', 's', '{}'), result('call-1', 'x')])
    expect(await ids([begin as AgentEvent, ...rest.slice(0, 3), ...deep, ...rest.slice(3)])).toEqual([
      'c1',
      'c1/call-1',
      'c1/call-1/call-1',
    ])
    const second = { ...HELPER, runId: 'R/tool:0:0.2', origin: 'c1.2' }
    const once = (stamp: EventStamp, id: string) =>
      nested([...call(id, 'call-1', 's', '{}'), result('call-1', 'x')], ended('complete'), stamp)
    expect(await ids([...once(HELPER, 'm2'), ...once(second, 'm3')])).toEqual(['c1', 'c1/call-1', 'c1.2/call-1'])
  })

  test('a sub-agent inside a sub-agent names the one around it', async () => {
    const inside = nested([message('m3', 'deep')], ended('complete'), INNER)
    const [begin, ...rest] = nested([])
    const events = await around([begin as AgentEvent, ...inside, ...rest])
    expect(events.find((event) => 'parentSubagentRunId' in event)).toMatchObject({
      name: 'inner',
      parentSubagentRunId: 'R/tool:0:0',
    })
  })

  test('that asks is suspended with its questions', async () => {
    const interrupts = [{ id: 'c1/call-1#x', reason: 'approval', agentName: 'helper', callId: 'c1' }]
    const events = await around(nested([], ended('interrupted', { interrupts })), [], {
      outcome: 'interrupted',
      interrupts,
    })
    expect(events).toContainEqual({
      type: 'SUBAGENT_FINISHED',
      subagentRunId: 'R/tool:0:0',
      outcome: { type: 'suspended', interruptIds: ['c1/call-1#x'] },
    })
    expect(events.at(-1)).toMatchObject({
      outcome: { interrupts: [{ reason: 'tool_call', toolCallId: 'c1', subagentRunId: 'R/tool:0:0' }] },
    })
  })

  test('that fails is shown with a public error', async () => {
    const error = { code: 'AGENT_FAILED', message: 'the password is 1234' }
    const events = await around(nested([], ended('failed', { error })))
    expect(events).toContainEqual({
      type: 'SUBAGENT_ERROR',
      subagentRunId: 'R/tool:0:0',
      code: 'AGENT_ERROR',
      message: 'The agent failed.',
    })
  })

  test('its end closes what it left open', async () => {
    const events = await around(nested([{ type: 'text-delta', messageId: 'm2', delta: 'Hal' }], ended('cancelled')))
    const types = events.map(({ type }) => String(type))
    expect(types.indexOf('TEXT_MESSAGE_END')).toBe(types.indexOf('SUBAGENT_ERROR') - 1)
  })

  test('events of one whose start is not shown belong to the run', async () => {
    const change = stamped([{ type: 'state-delta', set: { n: 1 }, removed: [] }], HELPER)
    const events = await around(change)
    expect(events).toContainEqual({ type: 'STATE_DELTA', delta: [{ op: 'add', path: '/n', value: 1 }] })
  })

  test('that uses a message id of the run gets another one', async () => {
    const events = await around(nested([message('m1', 'Mine')]))
    expect(events.find(({ type }) => String(type) === 'TEXT_MESSAGE_START')).toMatchObject({
      messageId: 'R/tool:0:0/m1@1',
    })
  })
})

describe('agents are steps', () => {
  const step = (type: 'agent-start' | 'agent-end', agentName: string, runPath: string[] = []): EventDraft =>
    ({ type, agentName, runPath, ...(type === 'agent-end' && { outcome: 'complete' }) }) as EventDraft
  const steps = (drafts: readonly EventDraft[]) => {
    const events = wireOf(run(drafts))
    return events.flatMap((event) => ('stepName' in event ? [`${event.type} ${event.stepName}`] : []))
  }

  test('one after the other on a transfer', () => {
    const transfer = [
      step('agent-start', 'router'),
      { type: 'action', action: { type: 'transfer-to-agent', agentName: 'weather' } },
      step('agent-end', 'router'),
      step('agent-start', 'weather', ['router']),
      step('agent-end', 'weather', ['router']),
    ] as const
    expect(steps(transfer)).toEqual([
      'STEP_STARTED router',
      'STEP_FINISHED router',
      'STEP_STARTED weather',
      'STEP_FINISHED weather',
    ])
  })

  test('two agents of one name have distinct names while both run', () => {
    const twins = [
      step('agent-start', 'twin'),
      step('agent-start', 'twin', ['twin']),
      step('agent-end', 'twin', ['twin']),
      step('agent-end', 'twin'),
      step('agent-start', 'twin'),
      step('agent-end', 'twin'),
    ]
    expect(steps(twins)).toEqual([
      'STEP_STARTED twin',
      'STEP_STARTED twin#2',
      'STEP_FINISHED twin#2',
      'STEP_FINISHED twin',
      'STEP_STARTED twin',
      'STEP_FINISHED twin',
    ])
  })

  test('a step that is open at the end of the run is ended with it', () => {
    expect(steps([step('agent-start', 'lost')])).toEqual(['STEP_STARTED lost', 'STEP_FINISHED lost'])
  })
})
