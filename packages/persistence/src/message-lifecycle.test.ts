import { KernelError, say } from '@troupe/kernel'
import { memoryStore } from '@troupe/kernel/memory-store'
import { openSpan, runNested, startRun } from '@troupe/kernel/run'
import { testCallback } from '@troupe/testkit'
import { describe, expect, it } from 'vitest'
import { messageLifecycle } from './message-lifecycle.ts'
import { ANN, agentOf, calm, greeter, input, recordsHarness, settled, talker } from './persistence.fixture.ts'

testCallback('messageLifecycle', () => messageLifecycle({ store: memoryStore(), report() {} }))

describe('messageLifecycle', () => {
  it('keeps a run from its start to its end, with text and usage', async () => {
    const { run, store, messages, reports } = await recordsHarness()
    await run(talker('Hel', 'lo'))
    await messages.flush()
    expect(await store.records.runs(ANN)).toEqual([
      {
        runId: 'run-1',
        agentName: 'talker',
        seq: 1,
        status: 'complete',
        text: 'Hello',
        usage: { inputTokens: 10, outputTokens: 2 },
        startedAt: 1_000,
        endedAt: 1_000,
      },
    ])
    expect(await store.records.usage(ANN)).toEqual({ inputTokens: 10, outputTokens: 2 })
    const [call, ...more] = await store.records.modelCalls(ANN, 'run-1')
    expect(more).toEqual([])
    expect(call).toMatchObject({ model: 'scripted-1', usage: { inputTokens: 10, outputTokens: 2 } })
    expect(call).toMatchObject({ finishReason: 'stop', messageId: expect.stringMatching(/^run-1/), requestId: 'u1' })
    expect(reports).toEqual([])
  })

  it('消息 ID 生成策略: the id of the message is that of the run from the first event on, its sequence comes with the insert', async () => {
    const { run, messages, notifications } = await recordsHarness()
    const ids: string[] = []
    for await (const event of run(greeter)) ids.push(event.runId)
    await run(greeter)
    await messages.flush()
    expect(new Set(ids)).toEqual(new Set(['run-1']))
    const inits = notifications.filter(({ type }) => type === 'init')
    expect(inits.map(({ messageId, seq }) => [messageId, seq])).toEqual([
      ['run-1', 1],
      ['run-2', 2],
    ])
  })

  it('shows the record as generating, with its text so far, while the run goes on', async () => {
    const { run, store, clock } = await recordsHarness()
    const events = run(talker('Hel', 'lo', ' you', '!'))[Symbol.asyncIterator]()
    for (;;) {
      const { value } = await events.next()
      if (value?.type === 'text-delta' && value.delta === 'Hel') break
    }
    await calm()
    clock.advance(50)
    await calm()
    expect(await store.records.runs(ANN)).toMatchObject([
      { status: 'generating', text: expect.stringMatching(/^Hello/) },
    ])
    await events.return?.()
  })

  it('流式响应处理: a stream that ends completes the message, one that breaks off fails it, with the text there is', async () => {
    const { run, store, messages, done, notifications } = await recordsHarness()
    const broken = agentOf(async function* () {
      yield { type: 'message-start', messageId: 'm' }
      yield { type: 'text-delta', messageId: 'm', delta: 'Half' }
      throw new KernelError('MODEL_FAILED', 'test: gone')
    })
    await settled(run(broken))
    await run(talker('a', 'b'))
    await messages.flush()
    expect(await store.records.runs(ANN)).toMatchObject([
      { status: 'failed', text: 'Half', error: { code: 'MODEL_FAILED' } },
      { status: 'complete', text: 'ab' },
    ])
    expect(done.map(([{ runId }, error]) => [runId, error?.code])).toEqual([
      ['run-1', 'MODEL_FAILED'],
      ['run-2', undefined],
    ])
    expect(notifications.filter(({ type }) => type === 'failed' || type === 'done')).toMatchObject([
      { type: 'failed', messageId: 'run-1', text: 'Half', startAt: 0 },
      { type: 'done', messageId: 'run-2', text: 'ab', startAt: 0 },
    ])
  })

  it('keeps the partial text of a dropped attempt if nothing follows, and the text of the next attempt if something does', async () => {
    const { run, store, messages } = await recordsHarness()
    const attempt = (id: string, text: string) =>
      [
        { type: 'message-start', messageId: id },
        { type: 'text-delta', messageId: id, delta: text },
        { type: 'message-end', message: { id, role: 'assistant', content: text }, dropped: true },
      ] as const
    await settled(
      run(
        agentOf(async function* () {
          yield* attempt('m1', 'Half')
          throw new Error('no')
        }),
      ),
    )
    await run(
      agentOf(async function* (_input, ctx) {
        yield* attempt('m1', 'Half an answer')
        yield* say(ctx, 'Whole')
      }),
    )
    await messages.flush()
    expect((await store.records.runs(ANN)).map(({ text }) => text)).toEqual(['Half', 'Whole'])
  })

  it('has the text of the last message, as the run itself, also where messages overlap', async () => {
    const { run, store, messages } = await recordsHarness()
    const delta = (messageId: string, text: string) => ({ type: 'text-delta', messageId, delta: text }) as const
    const end = (id: string, content: string) =>
      ({ type: 'message-end', message: { id, role: 'assistant', content } }) as const
    const result = await run(
      agentOf(async function* () {
        yield { type: 'message-start', messageId: 'a' }
        yield delta('a', 'A1')
        yield { type: 'message-start', messageId: 'b' }
        yield delta('b', 'B1')
        yield delta('a', 'A2')
        yield delta('b', 'B2')
        yield end('b', 'B1B2')
        yield end('a', 'A1A2')
      }),
    )
    await messages.flush()
    expect(result.text).toBe('A1A2')
    expect(await store.records.runs(ANN)).toMatchObject([{ text: 'A1A2' }])
  })

  it('an error before the agent has begun leaves a failed message and a notification', async () => {
    const { run, store, messages, notifications, done } = await recordsHarness()
    const around = () => {
      throw new KernelError('NOT_FOUND', 'test: history is gone')
    }
    await settled(run(greeter, {}, { around }))
    await messages.flush()
    expect(await store.records.runs(ANN)).toMatchObject([{ status: 'failed', text: '', error: { code: 'NOT_FOUND' } }])
    expect(notifications.map(({ type }) => type)).toEqual(['init', 'failed'])
    expect(done).toHaveLength(1)
  })

  it('a run that its consumer left is cancelled, one that asks is interrupted', async () => {
    const { run, store, messages, done } = await recordsHarness()
    for await (const event of run(talker('a', 'b'))) if (event.type === 'text-delta') break
    await run(
      agentOf(async function* (_input, ctx) {
        yield* say(ctx, 'May I?')
        yield* say(ctx, String(await ctx.interrupt({ reason: 'input' })))
      }),
    )
    await messages.flush()
    expect(await store.records.runs(ANN)).toMatchObject([
      { status: 'cancelled', text: 'a', error: { code: 'ABORTED' } },
      { status: 'interrupted', text: 'May I?' },
    ])
    expect(done.map(([{ status }, error]) => [status, error?.code])).toEqual([
      ['cancelled', 'ABORTED'],
      ['interrupted', undefined],
    ])
  })

  it('nested runs are linked records, out of the text of their parent, in its usage', async () => {
    const { run, store, messages, done, notifications } = await recordsHarness()
    const outer = agentOf(async function* (_input, ctx) {
      const call = { callId: 'c1', onAction() {}, onInterrupt() {} }
      const { text } = await runNested(talker('in', 'ner'), input, ctx.derive({ step: 'tool:0:0', call }))
      yield* say(ctx, text.length > 0 ? 'outer' : '')
    }, 'outer')
    await run(outer)
    await messages.flush()
    const usage = { inputTokens: 10, outputTokens: 2 }
    expect(await store.records.runs(ANN)).toMatchObject([
      { runId: 'run-1', text: 'outer', usage, status: 'complete' },
      { runId: 'run-1/tool:0:0', parentRunId: 'run-1', text: 'inner', usage, status: 'complete' },
    ])
    expect(await store.records.usage(ANN)).toEqual(usage)
    expect(done.map(([{ runId }]) => runId)).toEqual(['run-1'])
    expect(notifications.filter(({ type }) => type === 'init').map(({ parentMessageId }) => parentMessageId)).toEqual([
      undefined,
      'run-1',
    ])
  })

  it('counts the tokens of a model call once, whether its span, its message or both report them, in any order', async () => {
    const { run, store, messages } = await recordsHarness()
    const usage = { inputTokens: 1, outputTokens: 2 }
    const request = { instruction: '', messages: [], tools: [], options: {}, idempotencyKey: 'k' }
    await run(
      agentOf(async function* (_input, ctx) {
        const message = (id: string) => ({ id, role: 'assistant', content: id }) as const
        yield { type: 'message-end', message: message('only-message'), usage }
        const early = openSpan(ctx, 'model', 'm', { ...request, step: 'model:0' })
        yield { type: 'message-end', message: message('both'), usage }
        early?.end({ message: message('both'), usage, finishReason: 'stop', model: 'm' })
        const alone = openSpan(ctx, 'model', 'm', { ...request, step: 'model:1' })
        alone?.end({ message: message('only-span'), usage, finishReason: 'stop', model: 'm' })
        openSpan(ctx, 'model', 'm', { ...request, step: 'model:2' })
        yield { type: 'message-end', message: message('span-left-open'), usage }
      }),
    )
    await messages.flush()
    const four = { inputTokens: 4, outputTokens: 8 }
    expect(await store.records.usage(ANN)).toEqual(four)
    expect(await store.records.runs(ANN)).toMatchObject([{ usage: four }])
  })

  it('Eino Callback 组件过滤, 组件识别: agents, models and tools inside a run make no message of their own', async () => {
    const { run, store, messages } = await recordsHarness()
    await run(
      agentOf(async function* (_input, ctx) {
        const span = openSpan(ctx, 'tool', 'talker', {
          name: 'talker',
          arguments: '{}',
          callId: 'c',
          step: 'tool:0:0',
          idempotencyKey: 'k',
        })
        span?.end({ content: 'x' })
        yield* say(ctx, 'Hi')
      }, 'react.Agent'),
    )
    await messages.flush()
    expect(await store.records.runs(ANN)).toHaveLength(1)
  })

  it('a start that comes twice, an end that comes twice and parts of an unknown run change nothing', async () => {
    const { store, messages, done, reports } = await recordsHarness()
    const info = { component: 'run', name: 'a', agentName: 'a', runId: 'r', spanId: 'r/run', session: ANN } as const
    const stranger = { ...info, runId: 'stranger' }
    const stamp = { runId: 'r', agentName: 'a', runPath: [] }
    const result = {
      outcome: 'complete',
      text: 'Hi',
      messages: [],
      usage: { inputTokens: 0, outputTokens: 0 },
    } as const
    messages.run?.onPart?.(stranger, { type: 'text-delta', messageId: 'm', delta: 'x', ...stamp })
    messages.run?.onEnd?.(stranger, result)
    messages.model?.onEnd?.(stranger, {
      message: { id: 'm', role: 'assistant', content: '' },
      usage: result.usage,
      finishReason: 'stop',
      model: 'm',
    })
    messages.run?.onStart?.(info, input)
    messages.run?.onStart?.({ ...info }, input)
    messages.run?.onPart?.({ ...info }, { type: 'text-delta', messageId: 'm', delta: 'Hi', ...stamp })
    messages.run?.onEnd?.({ ...info }, result)
    messages.run?.onEnd?.(info, { ...result, outcome: 'failed' })
    messages.run?.onPart?.(info, { type: 'text-delta', messageId: 'm', delta: '!', ...stamp })
    await messages.flush()
    expect(await store.records.runs(ANN)).toMatchObject([{ runId: 'r', status: 'complete', text: 'Hi' }])
    expect(done).toHaveLength(1)
    expect(reports).toEqual([])
  })

  it('two owners may use the same run id at the same time', async () => {
    const { store, messages, clock } = await recordsHarness()
    const ben = { ...ANN, user: 'ben' }
    await store.threads.open(ben)
    const settings = { clock, callbacks: [messages], runId: 'same' }
    await Promise.all([
      startRun(talker('a', 'n', 'n'), input, { ...settings, session: ANN }),
      startRun(talker('b', 'e', 'n'), input, { ...settings, session: ben }),
    ])
    await messages.flush()
    expect(await store.records.runs(ANN)).toMatchObject([{ runId: 'same', text: 'ann' }])
    expect(await store.records.runs(ben)).toMatchObject([{ runId: 'same', text: 'ben' }])
  })

  it('a thread that does not exist, or has another owner, gets no record: one report, and onDone is still called', async () => {
    const { run, store, messages, done, reports, notifications } = await recordsHarness()
    const foreign = { ...ANN, user: 'eve' }
    await run(talker('a', 'b'), { session: foreign })
    await messages.flush()
    expect(await store.records.runs(foreign)).toEqual([])
    expect(await store.records.runs(ANN)).toEqual([])
    expect(reports.map(({ code }) => code)).toEqual(['RECORD_REFUSED'])
    expect(done.map(([run, error]) => [run.text, error?.code])).toEqual([['ab', 'RECORD_REFUSED']])
    expect(notifications.map(({ type }) => type)).toEqual(['failed'])
  })

  it('a run that another process has ended keeps that end, and reports it', async () => {
    const { run, store, messages, done, reports } = await recordsHarness()
    let go = () => {}
    const gate = new Promise<void>((resolve) => {
      go = resolve
    })
    const slow = run(
      agentOf(async function* (_input, ctx) {
        await gate
        yield* say(ctx, 'late')
      }),
    )
    const ended = settled(slow)
    await calm()
    await store.records.apply(ANN, [{ type: 'run-finish', runId: 'run-1', status: 'failed', endedAt: 5 }])
    go()
    await ended
    await messages.flush()
    expect(await store.records.runs(ANN)).toMatchObject([{ status: 'failed', text: '', endedAt: 5 }])
    expect(done).toMatchObject([[{ status: 'failed', endedAt: 5 }, { code: 'RECORD_REFUSED' }]])
    expect(reports.map(({ code }) => code)).toEqual(['RECORD_REFUSED'])
  })
})
