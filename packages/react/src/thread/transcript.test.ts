import { type BaseEvent, EventType } from '@ag-ui/client'
import { describe, expect, it } from 'vitest'
import { tokensOf } from './run.ts'
import { Trace } from './trace.ts'
import { Transcript } from './transcript.ts'

type Fields = Record<string, unknown>
let clock = 0
function event(type: EventType, fields: Fields = {}): BaseEvent {
  clock += 10
  return { type, timestamp: clock, ...fields } as BaseEvent
}
const started = (runId: string, ...said: string[]) =>
  event(EventType.RUN_STARTED, {
    runId,
    protocolVersion: '1.0',
    input: { messages: said.map((content) => ({ id: content, role: 'user', content })) },
  })
const finished = (outcome: Fields = { type: 'success' }) => event(EventType.RUN_FINISHED, { outcome })
const call = (toolCallId: string, toolCallName: string, args: object, tag: Fields = {}) => [
  event(EventType.TOOL_CALL_START, { toolCallId, toolCallName, parentMessageId: `m-${toolCallId}`, ...tag }),
  event(EventType.TOOL_CALL_ARGS, { toolCallId, delta: JSON.stringify(args), ...tag }),
  event(EventType.TOOL_CALL_END, { toolCallId, ...tag }),
]
const result = (toolCallId: string, content: string, more: Fields = {}) =>
  event(EventType.TOOL_CALL_RESULT, { toolCallId, content, ...more })
const text = (messageId: string, delta: string, tag: Fields = {}) => [
  event(EventType.TEXT_MESSAGE_START, { messageId, ...tag }),
  event(EventType.TEXT_MESSAGE_CONTENT, { messageId, delta, ...tag }),
]
const step = (stepName: string, tag: Fields = {}) => event(EventType.STEP_STARTED, { stepName, ...tag })
const stepEnd = (stepName: string, tag: Fields = {}) => event(EventType.STEP_FINISHED, { stepName, ...tag })

function shown(...events: BaseEvent[]): Transcript {
  const transcript = new Transcript()
  for (const each of events) transcript.addEvent(each)
  return transcript
}

const INSIDE = { subagentRunId: 'r1/tool:0:0' }
const WITH_SUB_AGENT = [
  started('r1', 'Look'),
  step('Router'),
  ...call('c1', 'finder', {}),
  event(EventType.SUBAGENT_STARTED, { name: 'finder', parentToolCallId: 'c1', ...INSIDE }),
  step('finder', INSIDE),
  ...text('i1', 'I look.', INSIDE),
  ...call('c1/1', 'grep', { text: 'x' }, INSIDE),
  result('c1/1', 'found', INSIDE),
  stepEnd('finder', INSIDE),
  result('c1', 'It is there.'),
  stepEnd('Router'),
  finished(),
]

describe('a transcript', () => {
  it('has what the user said once, and who says what', () => {
    const transcript = shown(started('r1', 'Hi'), step('Router'), ...text('m1', 'Hel'), ...text('m1', 'lo'))
    transcript.addUserMessage('Hi', 'Hi')
    expect(transcript.items).toMatchObject([
      { kind: 'user', text: 'Hi' },
      { kind: 'text', agent: 'Router', text: 'Hello', done: false },
    ])
  })

  it('has the work of a sub-agent inside its call', () => {
    const [, outer, ...rest] = shown(...WITH_SUB_AGENT).items
    expect(rest).toEqual([])
    expect(outer).toMatchObject({
      kind: 'call',
      agent: 'Router',
      status: 'done',
      result: 'It is there.',
      inside: [
        { kind: 'text', agent: 'finder', text: 'I look.' },
        { kind: 'call', agent: 'finder', name: 'grep', args: '{"text":"x"}', status: 'done' },
      ],
    })
  })

  it('has a call wait until it is answered, by a later run or by the page', () => {
    const transcript = shown(started('r1', 'Go'), ...call('c1', 'pay', {}), ...call('c2', 'set_theme', {}))
    transcript.addEvent(finished({ type: 'success', pendingToolCallIds: ['c2'] }))
    expect(transcript.items).toMatchObject([{ kind: 'user' }, { status: 'stopped' }, { status: 'waiting' }])
    transcript.addResult('c2', 'dark')
    transcript.addResult('c1', 'late')
    expect(transcript.items[2]).toMatchObject({ status: 'done', result: 'dark' })
    expect(transcript.call('c1')?.status).toBe('stopped')
    transcript.addEvent(started('r2'))
    transcript.addEvent(result('c1', 'no', { metadata: { error: 'TOOL_REFUSED' } }))
    expect(transcript.call('c1')?.status).toBe('failed')
  })

  it('takes back what a snapshot does not have, of this run alone', () => {
    const transcript = shown(started('r1'), ...text('m1', 'before'), finished(), started('r2'))
    for (const each of [...text('m2', 'wrong'), ...text('m3', 'half')]) transcript.addEvent(each)
    transcript.addEvent(
      event(EventType.MESSAGES_SNAPSHOT, { messages: [{ id: 'm3', role: 'assistant', content: 'whole' }] }),
    )
    expect(transcript.items).toMatchObject([{ text: 'before' }, { text: 'whole' }])
  })

  it('says of a stored answer that it was cut off', () => {
    const transcript = new Transcript()
    const answer = { id: 'm1', role: 'assistant', content: 'Once', metadata: { partial: true } } as const
    transcript.addMessages('r1', [answer, { id: 'm2', role: 'assistant', content: 'Whole.' }])
    expect(transcript.items).toMatchObject([
      { kind: 'text', text: 'Once', done: true },
      { kind: 'note', code: 'cut-off', tone: 'quiet' },
      { kind: 'text', text: 'Whole.' },
    ])
  })

  it('says when a run was stopped or failed', () => {
    const stopped = shown(started('r1'), ...text('m1', 'Once'), finished({ type: 'cancelled' }))
    expect(stopped.items).toMatchObject([{ done: true }, { kind: 'note', code: 'stopped', tone: 'quiet' }])
    const failed = shown(started('r1'), event(EventType.RUN_ERROR, { code: 'AGENT_FAILED', message: 'It broke.' }))
    expect(failed.items).toMatchObject([{ kind: 'note', code: 'AGENT_FAILED', text: 'It broke.', tone: 'bad' }])
  })

  it('says where a run went on after its server was stopped', () => {
    const transcript = shown(started('r1'), ...text('m1', 'Once'), event(EventType.CUSTOM, { name: 'run-continued' }))
    expect(transcript.items).toMatchObject([{ text: 'Once' }, { kind: 'note', code: 'went-on', tone: 'quiet' }])
    expect(shown(started('r1'), event(EventType.CUSTOM, { name: 'progress' })).items).toEqual([])
  })

  it('is made of messages where a run left no events', () => {
    const transcript = new Transcript()
    transcript.addMessages('r1', [
      {
        id: 'm1',
        role: 'assistant',
        name: 'Router',
        content: 'Look:',
        toolCalls: [{ id: 'c1', type: 'function', function: { name: 'grep', arguments: '{}' } }],
      },
      { id: 't1', role: 'tool', toolCallId: 'c1', content: 'found' },
    ])
    expect(transcript.items).toMatchObject([
      { kind: 'text', agent: 'Router', text: 'Look:', done: true },
      { kind: 'call', name: 'grep', status: 'done', result: 'found' },
    ])
  })
})

describe('a trace', () => {
  it('has who ran when, how deep, and what it cost', () => {
    const trace = new Trace()
    for (const each of WITH_SUB_AGENT) trace.addEvent(each)
    const [run] = trace.runs
    expect(run).toMatchObject({ runId: 'r1', status: 'done' })
    expect(run?.spans.map(({ name, kind, depth, status }) => [name, kind, depth, status])).toEqual([
      ['Router', 'agent', 0, 'done'],
      ['finder', 'tool', 1, 'done'],
      ['finder', 'agent', 2, 'done'],
      ['grep', 'tool', 3, 'done'],
    ])
    const tokens = {
      i1: { input: 5, output: 2 },
      'm-c1/1': { input: 7, output: 1 },
      'm-c1': { input: 100, output: 10 },
    }
    expect(tokensOf(run?.spans.slice(2, 3) ?? [], tokens)).toEqual({ input: 12, output: 3 })
    const priced = { ...tokens, i1: { ...tokens.i1, cost: 0.25 }, 'm-c1/1': { ...tokens['m-c1/1'], cost: 0.5 } }
    expect(tokensOf(run?.spans ?? [], priced).cost).toBe(0.75)
    expect(run?.active).toEqual([])
  })

  it('has the id of its trace in OpenTelemetry, where there is one', () => {
    const trace = new Trace()
    const traced = event(EventType.CUSTOM, { name: 'trace', value: { traceId: 'f1' } })
    const others = [event(EventType.CUSTOM, { name: 'trace', value: 1 }), event(EventType.CUSTOM, { name: 'progress' })]
    for (const each of [started('r1'), ...others, finished(), started('r2'), traced, ...others, finished()]) {
      trace.addEvent(each)
    }
    expect(trace.runs.map(({ traceId }) => traceId)).toEqual([undefined, 'f1'])
  })

  it('has what waits, and who is at work', () => {
    const trace = new Trace()
    for (const each of [started('r1'), step('Chat'), ...call('c1', 'pay', {})]) trace.addEvent(each)
    expect(trace.runs[0]?.active).toEqual(['Chat'])
    expect(trace.runs[0]).toMatchObject({ status: 'running', to: clock })
    trace.addEvent(finished({ type: 'interrupt' }))
    expect(trace.runs[0]).toMatchObject({ status: 'waits', spans: [{ status: 'waits' }, { status: 'waits' }] })
  })
})
