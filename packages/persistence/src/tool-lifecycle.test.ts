import {
  type Agent,
  type EventDraft,
  KernelError,
  type Message,
  type RunContext,
  say,
  type Tool,
  type ToolCallResult,
} from '@troupe/kernel'
import { memoryStore } from '@troupe/kernel/memory-store'
import { openSpan, runNested, startRun } from '@troupe/kernel/run'
import { testCallback } from '@troupe/testkit'
import { describe, expect, it } from 'vitest'
import { messageLifecycle } from './message-lifecycle.ts'
import { ANN, agentOf, calm, input, recordsHarness, settled } from './persistence.fixture.ts'
import { toolLifecycle } from './tool-lifecycle.ts'

testCallback('toolLifecycle', () =>
  toolLifecycle({ messages: messageLifecycle({ store: memoryStore(), report() {} }) }),
)

const both = () => recordsHarness({}, (messages) => [toolLifecycle({ messages })])
const call = (id: string, name = 'look') => ({ id, name, arguments: `{"id":"${id}"}` })
const asks = (...ids: readonly string[]): EventDraft => ({
  type: 'message-end',
  message: { id: 'm1', role: 'assistant', content: '', toolCalls: ids.map((id) => call(id)) },
})
const open = (ctx: RunContext, callId: string, index = 0, tool?: Tool) =>
  openSpan(ctx, 'tool', 'look', {
    name: 'look',
    arguments: `{"id":"${callId}"}`,
    callId,
    step: `tool:0:${index}`,
    idempotencyKey: callId,
    ...(tool && { tool }),
  })
const end = (callId: string, result: ToolCallResult): EventDraft => ({
  type: 'tool-end',
  callId,
  messageId: `${callId}-result`,
  name: 'look',
  status: result.error ? 'failed' : 'complete',
  ...result,
})

/** Calls one tool several times at once; the calls end in the order given. */
const parallel = (started: readonly string[], ended: readonly (readonly [string, ToolCallResult])[]): Agent =>
  agentOf(async function* (_input, ctx) {
    yield asks(...started)
    for (const callId of started) yield { type: 'tool-start', ...call(callId), callId }
    const spans = new Map(started.map((callId, i) => [callId, open(ctx, callId, i)]))
    for (const [callId, result] of ended) {
      spans.get(callId)?.end(result)
      yield end(callId, result)
    }
    yield* say(ctx, 'Done')
  })

describe('toolLifecycle', () => {
  it('records how often a tool was called, if more than once', async () => {
    const { run, store, messages } = await both()
    const failed: ToolCallResult = { content: 'no', error: { code: 'BUSY', message: 'no' }, attempts: 3 }
    await run(
      parallel(
        ['once', 'twice', 'failed', 'odd'],
        [
          ['once', { content: 'one' }],
          ['twice', { content: 'two', attempts: 2 }],
          ['failed', failed],
          ['odd', { content: 'half', attempts: 1.5 }],
        ],
      ),
    )
    await messages.flush()
    const calls = await store.records.toolCalls(ANN, 'run-1')
    expect(calls.map(({ callId, attempts }) => [callId, attempts])).toEqual([
      ['once', undefined],
      ['twice', 2],
      ['failed', 3],
      ['odd', undefined],
    ])
    expect(calls[2]?.result).toEqual({ content: 'no', error: { code: 'BUSY', message: 'no' } })
  })

  it('keeps a row with name, arguments, result, times and the message that asked', async () => {
    const { run, store, messages, clock } = await both()
    await run(
      agentOf(async function* (_input, ctx) {
        yield asks('c1')
        const span = open(ctx, 'c1')
        clock.advance(7)
        span?.end({ content: 'sunny', display: 'Sun', data: { degrees: 20 } })
        yield end('c1', { content: 'sunny' })
      }),
    )
    await messages.flush()
    expect(await store.records.toolCalls(ANN, 'run-1')).toEqual([
      {
        callId: 'c1',
        runId: 'run-1',
        messageId: 'm1',
        name: 'look',
        arguments: '{"id":"c1"}',
        status: 'complete',
        result: { content: 'sunny', display: 'Sun', data: { degrees: 20 } },
        startedAt: 1_000,
        endedAt: 1_007,
      },
    ])
  })

  it('并发安全, 工具并发执行: parallel calls of one tool that end in any order keep their own results', async () => {
    const ids = ['a', 'b', 'c']
    const orders = [
      ['a', 'b', 'c'],
      ['a', 'c', 'b'],
      ['b', 'a', 'c'],
      ['b', 'c', 'a'],
      ['c', 'a', 'b'],
      ['c', 'b', 'a'],
    ]
    for (const order of orders) {
      const { run, store, messages } = await both()
      await run(
        parallel(
          ids,
          order.map((id) => [id, { content: `result of ${id}` }]),
        ),
      )
      await messages.flush()
      const rows = await store.records.toolCalls(ANN, 'run-1')
      expect(rows.map(({ callId, status, result }) => [callId, status, result])).toEqual(
        ids.map((id) => [id, 'complete', { content: `result of ${id}` }]),
      )
    }
  })

  it('a failed tool does not fail the message', async () => {
    const { run, store, messages, notifications } = await both()
    const error = { code: 'TOOL_FAILED', message: 'no' }
    await run(
      parallel(
        ['a', 'b'],
        [
          ['b', { content: 'no', error }],
          ['a', { content: 'yes' }],
        ],
      ),
    )
    await messages.flush()
    expect(await store.records.runs(ANN)).toMatchObject([{ status: 'complete', text: 'Done' }])
    expect(await store.records.toolCalls(ANN, 'run-1')).toMatchObject([
      { callId: 'a', status: 'complete' },
      { callId: 'b', status: 'failed', result: { content: 'no', error } },
    ])
    const received = notifications.filter(({ call }) => call)
    expect(received.map(({ type, call, status, text }) => [type, call?.callId, status, text])).toEqual([
      ['tool-start', 'a', 'running', ''],
      ['tool-start', 'b', 'running', ''],
      ['tool-end', 'b', 'failed', 'no'],
      ['tool-end', 'a', 'complete', 'yes'],
    ])
  })

  it('a tool that throws out of its span has failed, and one that is aborted with the run too', async () => {
    const { run, store, messages } = await both()
    await settled(
      run(
        agentOf(async function* (_input, ctx) {
          yield asks('a', 'b')
          open(ctx, 'a')?.fail(new KernelError('HANDLER_FAILED', 'test: no'))
          open(ctx, 'b', 1)
          throw new KernelError('HANDLER_FAILED', 'test: no')
        }),
      ),
    )
    await messages.flush()
    expect(await store.records.toolCalls(ANN, 'run-1')).toMatchObject([
      { callId: 'a', status: 'failed', result: { error: { code: 'HANDLER_FAILED' } } },
      { callId: 'b', status: 'failed' },
    ])
    expect(await store.records.runs(ANN)).toMatchObject([{ status: 'failed' }])
  })

  it('a call that was refused before it ran, or of an agent without spans, is known by its events', async () => {
    const { run, store, messages } = await both()
    const error = { code: 'TOOL_REFUSED', message: 'no' }
    await run(
      agentOf(async function* () {
        yield asks('refused', 'plain', 'dropped')
        yield end('refused', { content: 'no', error })
        yield { type: 'tool-start', callId: 'plain', name: 'look', arguments: '{}' }
        yield end('plain', { content: 'yes' })
        yield { type: 'tool-end', callId: 'dropped', messageId: 'd', name: 'look', status: 'dropped', content: '' }
      }),
    )
    await messages.flush()
    expect(await store.records.toolCalls(ANN, 'run-1')).toMatchObject([
      { callId: 'refused', status: 'failed', messageId: 'm1', arguments: '{"id":"refused"}' },
      { callId: 'plain', status: 'complete', arguments: '{}' },
    ])
  })

  it('a long-running call awaits its result, which a later run brings', async () => {
    const { run, store, messages, clock } = await both()
    const tool = { name: 'look', description: '', parameters: {}, kind: 'read', longRunning: true } as Tool
    await run(
      agentOf(async function* (_input, ctx) {
        yield asks('slow')
        open(ctx, 'slow', 0, tool)?.end({ content: '' })
      }),
    )
    await messages.flush()
    expect(await store.records.toolCalls(ANN, 'run-1')).toMatchObject([{ callId: 'slow', status: 'awaiting' }])
    const history: Message[] = [
      { id: 'm1', role: 'assistant', content: '', toolCalls: [call('slow')] },
      { id: 'r1', role: 'tool', callId: 'slow', name: 'look', content: 'at last' },
    ]
    const callbacks = [messages, toolLifecycle({ messages })]
    const settings = { session: ANN, runId: 'run-2', clock, callbacks }
    await startRun(
      agentOf((_input, ctx) => say(ctx, 'Thanks')),
      { messages: history },
      settings,
    )
    await messages.flush()
    expect(await store.records.toolCalls(ANN, 'run-1')).toEqual([])
    expect(await store.records.toolCalls(ANN, 'run-2')).toMatchObject([
      {
        callId: 'slow',
        status: 'complete',
        messageId: 'm1',
        arguments: '{"id":"slow"}',
        result: { content: 'at last' },
      },
    ])
  })

  it('a call that asks is interrupted, and its row goes on in the run that resumes it', async () => {
    const { run, store, messages, clock } = await both()
    const interrupt = { id: 'q', reason: 'approval', agentName: 'agent', callId: 'c1' } as const
    await run(
      agentOf(async function* (_input, ctx) {
        yield asks('c1', 'c2')
        open(ctx, 'c1')?.end({ content: '', error: { code: 'INTERRUPTED', message: 'asks' } })
        // This one asked before it was run.
        yield {
          type: 'action',
          action: { type: 'interrupt', interrupts: [interrupt, { ...interrupt, id: 'q2', callId: 'c2' }] },
        }
      }),
    )
    await messages.flush()
    expect(await store.records.toolCalls(ANN, 'run-1')).toMatchObject([
      { callId: 'c1', status: 'interrupted' },
      { callId: 'c2', status: 'interrupted', arguments: '{"id":"c2"}' },
    ])
    const history: Message[] = [{ id: 'm1', role: 'assistant', content: '', toolCalls: [call('c1'), call('c2')] }]
    const resumed = agentOf(async function* (_input, ctx) {
      open(ctx, 'c1')?.end({ content: 'one' })
      yield end('c1', { content: 'one' })
      yield* say(ctx, 'Done')
    })
    const callbacks = [toolLifecycle({ messages }), messages]
    await startRun(
      resumed,
      { messages: history, state: null, answers: {} },
      { session: ANN, runId: 'run-2', clock, callbacks },
    )
    await messages.flush()
    expect(await store.records.toolCalls(ANN, 'run-2')).toMatchObject([
      { callId: 'c1', status: 'complete', messageId: 'm1', result: { content: 'one' } },
    ])
    expect(await store.records.toolCalls(ANN, 'run-1')).toMatchObject([{ callId: 'c2', status: 'interrupted' }])
  })

  it('calls of nested runs have rows of their own, even under the same ids', async () => {
    const { run, store, messages } = await both()
    const inner = parallel(['c1'], [['c1', { content: 'inner' }]])
    await run(
      agentOf(async function* (_input, ctx) {
        yield asks('c1')
        const span = open(ctx, 'c1')
        const scope = { callId: 'c1', onAction() {}, onInterrupt() {} }
        const derived = ctx.derive({ step: 'tool:0:0', call: scope })
        await runNested(inner, input, derived)
        await runNested(inner, input, derived)
        span?.end({ content: 'outer' })
        yield* say(ctx, 'Done')
      }),
    )
    await messages.flush()
    const rows = async (runId: string) =>
      (await store.records.toolCalls(ANN, runId)).map(({ callId, result }) => [callId, result])
    expect(await rows('run-1')).toEqual([['c1', { content: 'outer' }]])
    expect(await rows('run-1/tool:0:0')).toEqual([['c1/c1', { content: 'inner' }]])
    expect(await rows('run-1/tool:0:0.2')).toEqual([['c1.2/c1', { content: 'inner' }]])
  })

  it('数据一致性: what a run wrote comes before its end, and nothing after it', async () => {
    const { run, store, messages } = await both()
    await run(
      parallel(
        ['a', 'b'],
        [
          ['b', { content: '2' }],
          ['a', { content: '1' }],
        ],
      ),
    )
    await messages.flush()
    const types = store.written.flat().map(({ type }) => type)
    expect(types.at(0)).toBe('run-start')
    expect(types.at(-1)).toBe('run-finish')
    expect(types.filter((type) => type === 'run-finish')).toHaveLength(1)
  })

  it('a result that is not JSON does not cost the row', async () => {
    const { run, store, messages, reports } = await both()
    await run(parallel(['a'], [['a', { content: 'ok', data: new Date() as never }]]))
    await messages.flush()
    expect(await store.records.toolCalls(ANN, 'run-1')).toMatchObject([
      { status: 'complete', result: { content: 'ok' } },
    ])
    expect(reports).toEqual([])
  })

  it('spans of an unknown run, ends without a start and ends that come twice change nothing', async () => {
    const { store, messages, reports } = await both()
    const tools = toolLifecycle({ messages })
    const info = {
      component: 'tool',
      name: 'look',
      agentName: 'a',
      runId: 'r',
      spanId: 'r/tool:0:0',
      callId: 'c',
      session: ANN,
    } as const
    tools.tool?.onStart?.(info, { name: 'look', arguments: '', callId: 'c', step: 'tool:0:0', idempotencyKey: 'k' })
    tools.tool?.onEnd?.(info, { content: 'x' })
    await calm()
    expect(store.attempts).toBe(0)
    messages.run?.onStart?.({ ...info, component: 'run' }, input)
    tools.tool?.onEnd?.(info, { content: 'first' })
    tools.tool?.onEnd?.(info, { content: 'second' })
    tools.tool?.onStart?.(info, { name: 'look', arguments: '', callId: 'c', step: 'tool:0:0', idempotencyKey: 'k' })
    await messages.flush()
    expect(await store.records.toolCalls(ANN, 'r')).toMatchObject([
      { status: 'complete', result: { content: 'first' } },
    ])
    expect(reports).toEqual([])
  })

  it('needs the message lifecycle that it stands beside', () => {
    expect(() => toolLifecycle({ messages: {} as never })).toThrow(expect.objectContaining({ code: 'CONFIG_INVALID' }))
  })
})
