import { type ChatModel, KernelError, type ModelPart, type ModelRequest } from '@troupe/kernel'
import { scriptedModel } from '@troupe/testkit'
import { beforeEach, describe, expect, test } from 'vitest'
import {
  calling,
  expectSound,
  hello,
  idle,
  noUnhandledRejection,
  type Options,
  runAgent,
  tool,
} from '../chat-model.fixture.ts'

beforeEach(noUnhandledRejection)

const busy = (details = {}) => new KernelError('MODEL_FAILED', 'm: busy', { retryable: true, details })
const refused = new KernelError('MODEL_FAILED', 'm: bad request')
const failing = (error: unknown = busy(), at: 'before' | 'mid' | 'after' = 'before') => ({
  text: ['Half ', 'an answer'],
  error: { at, error },
})
const finish: ModelPart = { type: 'finish', reason: 'stop', usage: { inputTokens: 1, outputTokens: 1 } }

describe('a model that misbehaves', () => {
  test.each([
    ['before', new Error('socket hang up')],
    ['mid', new Error('socket hang up')],
    ['after', new Error('socket hang up')],
    ['before', 'a text'],
    ['mid', undefined],
  ] as const)('throws %s: %s', async (at, error) => {
    const finished = await runAgent([{ text: ['One ', 'two'], error: { at, error } }], { retry: false })
    expect(finished.errors).toMatchObject([{ code: 'MODEL_FAILED' }])
    expectSound(finished)
  })

  test('throws instead of returning a stream', async () => {
    const model: ChatModel = {
      name: 'broken',
      stream() {
        throw new Error('no')
      },
    }
    const finished = await runAgent([], { model, retry: false })
    expect(finished.errors).toMatchObject([{ code: 'MODEL_FAILED' }])
  })

  test('hangs until it is aborted', async () => {
    const controller = new AbortController()
    const running = runAgent([{ text: ['One ', 'two'], hang: 'mid' }], {}, hello, { signal: controller.signal })
    await idle()
    controller.abort()
    const finished = await running
    expect(finished.end?.outcome).toBe('cancelled')
    expectSound(finished)
  })

  const start: ModelPart = { type: 'tool-call-start', callId: 'c', name: 't' }
  const text: ModelPart = { type: 'text-delta', delta: 'Hi.' }
  const malformed: Record<string, readonly unknown[]> = {
    'ends without finish': [text],
    'says nothing at all': [],
    'sends a part that is null': [null, finish],
    'sends a part of an unknown type': [{ type: 'sing' }, finish],
    'sends text that is invalid': [{ type: 'text-delta', delta: 42 }, finish],
    'continues a call that it did not begin': [{ type: 'tool-call-delta', callId: 'x', delta: '{}' }, finish],
    'ends a call that it did not begin': [{ type: 'tool-call-end', callId: 'x' }, finish],
    'does not end a call': [start, finish],
    'begins a call without a name': [
      { type: 'tool-call-start', callId: 'c' },
      { type: 'tool-call-end', callId: 'c' },
      finish,
    ],
    'finishes without usage': [text, { type: 'finish', reason: 'stop' }],
    'finishes for no known reason': [text, { ...finish, reason: 'tired' }],
    'sends a file that is invalid': [{ type: 'file' }, finish],
  }
  test.each(Object.entries(malformed))('%s: MODEL_FAILED or an answer, and one terminal', async (_, parts) => {
    const finished = await runAgent([{ parts: parts as ModelPart[] }, 'Second.'], { tools: [tool('t')], retry: false })
    expectSound(finished)
    if (finished.end?.outcome !== 'complete') expect(finished.errors).toMatchObject([{ code: 'MODEL_FAILED' }])
  })

  test('ends without finish: the answer was cut off, so it does not count', async () => {
    expect((await runAgent([{ parts: [text] }], { retry: false })).end).toMatchObject({
      outcome: 'failed',
      error: { code: 'MODEL_FAILED' },
    })
  })

  test('sends deltas after finish: they are not part of the answer', async () => {
    const late: ModelPart[] = [
      text,
      finish,
      { type: 'text-delta', delta: 'Late.' },
      start,
      { type: 'tool-call-end', callId: 'c' },
    ]
    const finished = await runAgent([{ parts: late }, 'Second.'], { tools: [tool('t')], retry: false })
    expectSound(finished)
    expect(JSON.stringify(finished.history)).not.toContain('Late.')
    expect(finished.toolEnds).toEqual([])
  })

  test('says nothing: the run comes to an end all the same', async () => {
    const finished = await runAgent([{ parts: [finish] }, 'Second.'], { retry: false })
    expectSound(finished)
    expect(finished.requests.length).toBeLessThanOrEqual(2)
  })
})

describe('the loop', () => {
  const endless = (options: Options, input = {}) => {
    const model = scriptedModel([calling('t')], { repeat: true })
    return runAgent([], { model, tools: [tool('t')], ...options }, { ...hello, ...input }).then((finished) => [
      model.requests.length,
      finished.errors.map(({ code }) => code),
    ])
  }

  test('8: maxIterations counts model calls (default 20); exceeded is a coded error', async () => {
    expect(await endless({})).toEqual([20, ['MAX_ITERATIONS']])
    expect(await endless({ maxIterations: 3 })).toEqual([3, ['MAX_ITERATIONS']])
  })

  test('RunOptions override maxIterations for one run', async () => {
    expect(await endless({ maxIterations: 3 }, { options: { maxIterations: 2 } })).toEqual([2, ['MAX_ITERATIONS']])
    expect(await endless({ maxIterations: 3 }, { options: { maxIterations: 5 } })).toEqual([5, ['MAX_ITERATIONS']])
  })

  test('an answer in the last allowed call is an answer', async () => {
    expect((await runAgent([calling('t'), 'Done.'], { tools: [tool('t')], maxIterations: 2 })).end?.text).toBe('Done.')
  })

  test('a retry is not another iteration', async () => {
    expect((await runAgent([failing(), 'Hi.'], { maxIterations: 1, retry: () => 0 })).end?.text).toBe('Hi.')
  })

  test('modelOptions are settings of every call; RunOptions.model overrides them one by one', async () => {
    const modelOptions = { temperature: 0.1, maxOutputTokens: 9 }
    const { requests } = await runAgent(
      ['Hi.'],
      { modelOptions },
      { ...hello, options: { model: { temperature: 0.9 } } },
    )
    expect(requests[0]?.options).toMatchObject({ temperature: 0.9, maxOutputTokens: 9 })
  })

  test('options for an agent of this name come before those for all', async () => {
    const options = {
      model: { temperature: 1, maxOutputTokens: 9 },
      tools: { t: 'all', u: 'all' },
      maxIterations: 5,
      agents: {
        a: { model: { temperature: 0 }, tools: { t: 'own' }, maxIterations: 1 },
        other: { model: { temperature: 2 } },
      },
    }
    const seen: unknown[] = []
    const t = tool('t', (_, __, { callOptions }) => void seen.push(callOptions))
    const u = tool('u', (_, __, { callOptions }) => void seen.push(callOptions))
    const run = await runAgent([calling('t', 'u')], { tools: [t, u] }, { ...hello, options })
    expect(run.requests[0]?.options).toEqual({ temperature: 0, maxOutputTokens: 9 })
    expect([seen, run.end?.error?.code]).toEqual([['own', 'all'], 'MAX_ITERATIONS'])
  })

  test('a model that spreads its options for another model passes the signal on', async () => {
    const inner = scriptedModel([{ text: 'Half', hang: 'mid' }])
    const model: ChatModel = { name: 'outer', stream: (request, options) => inner.stream(request, { ...options }) }
    const controller = new AbortController()
    const running = runAgent([], { model }, hello, { signal: controller.signal })
    await idle()
    controller.abort()
    expect((await running).end?.outcome).toBe('cancelled')
  })

  test('usage is summed per run', async () => {
    const usage = (inputTokens: number, outputTokens: number) => ({ usage: { inputTokens, outputTokens } })
    const turns = [
      { ...(calling('t') as object), ...usage(10, 1) },
      { text: 'Done.', ...usage(20, 2) },
    ]
    expect((await runAgent(turns, { tools: [tool('t')] })).end?.usage).toMatchObject({
      inputTokens: 30,
      outputTokens: 3,
    })
  })

  test('message-end carries usage and finish reason of its call', async () => {
    const { events } = await runAgent([
      { text: 'Cut', finishReason: 'length', usage: { inputTokens: 5, outputTokens: 6 } },
    ])
    expect(events.find(({ type }) => type === 'message-end')).toMatchObject({
      finishReason: 'length',
      usage: { inputTokens: 5, outputTokens: 6 },
    })
  })

  test('reasoning, its encrypted part and files stay in the message, in order', async () => {
    const file = { type: 'file', mediaType: 'image/png', data: 'AA==' } as const
    const parts: ModelPart[] = [
      { type: 'reasoning-delta', delta: 'Hm' },
      { type: 'part-end', encrypted: 'xyz', metadata: { p: { sig: 's' } } },
      { type: 'text-delta', delta: 'Look: ' },
      { type: 'file', file },
      finish,
    ]
    const { history, story } = await runAgent([{ parts }])
    expect(history[1]?.content).toEqual([
      { type: 'reasoning', text: 'Hm', encrypted: 'xyz', metadata: { p: { sig: 's' } } },
      { type: 'text', text: 'Look: ' },
      file,
    ])
    expect(story).toContain('reasoning-delta "Hm"')
  })

  test('each call has its step and key by position, the same in every run of the same id', async () => {
    const keys = (requests: readonly ModelRequest[]) =>
      requests.map(({ step, idempotencyKey }) => [step, idempotencyKey])
    const run = async () => keys((await runAgent([calling('t'), 'Done.'], { tools: [tool('t')] })).requests)
    const first = await run()
    expect(first.map(([step]) => step)).toEqual([
      expect.stringMatching(/^model:\d+$/),
      expect.stringMatching(/^model:\d+$/),
    ])
    expect(new Set(first.flat()).size).toBe(4)
    expect(await run()).toEqual(first)
  })

  test('model and tool calls are seen by callbacks as spans, each closed once', async () => {
    const log: string[] = []
    const hooks = (name: string) => ({
      onStart: () => void log.push(`+${name}`),
      onEnd: () => void log.push(`-${name}`),
      onError: () => void log.push(`!${name}`),
    })
    const callbacks = [{ name: 'c', model: hooks('model'), tool: hooks('tool') }]
    await runAgent([calling('t', 'ghost'), failing(refused)], { tools: [tool('t')], retry: false }, hello, {
      callbacks,
    })
    expect(log.filter((line) => line.endsWith('model'))).toEqual(['+model', '-model', '+model', '!model'])
    expect(log.filter((line) => line.endsWith('tool')).toSorted()).toEqual(['+tool', '+tool', '-tool', '-tool'])
  })
})
