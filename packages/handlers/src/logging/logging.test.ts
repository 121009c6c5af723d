import {
  type AgentConfig,
  type AgentHandler,
  type CallModel,
  KernelError,
  type ModelPart,
  type ModelRequest,
  type RunContext,
  stream,
} from '@troupe/kernel'
import { fakeClock, testHandler } from '@troupe/testkit'
import { describe, expect, it } from 'vitest'
import { callOf, contextOf, settled, streamedThrough, user, wrapped } from '../handlers.fixture.ts'
import type { LogLine } from './log-line.ts'
import { type LoggingOptions, logging } from './logging.ts'

testHandler('logging', () => logging({ log: () => {} }))
testHandler('logging to a log that throws', () => logging({ log: throwing, content: true }))

const SECRET = 'the secret'

function throwing(): never {
  throw new Error('the disk is full')
}

/** A handler that logs into a list, and the context of a run on a clock that is moved by hand. */
function recording(options: Omit<LoggingOptions, 'log'> = {}) {
  const lines: LogLine[] = []
  const clock = fakeClock(1000)
  const ctx = contextOf('ann', { clock, runId: 'r1' })
  return { handler: logging({ log: (line) => lines.push(line), ...options }), lines, clock, ctx }
}

const request: ModelRequest = {
  instruction: SECRET,
  messages: [user('u1', SECRET)],
  tools: [],
  options: {},
  step: 'model:0',
  idempotencyKey: 'k',
}

async function ask(handler: AgentHandler, ctx: RunContext, next: CallModel): Promise<readonly ModelPart[]> {
  const parts: ModelPart[] = []
  for await (const part of handler.wrapModelCall?.(ctx, request, next) ?? []) parts.push(part)
  return parts
}

const answer = (...parts: readonly ModelPart[]): CallModel => {
  return () =>
    stream(async (sink) => {
      for (const part of parts) await sink.write(part)
    })
}

const usage = { inputTokens: 12, outputTokens: 3 }
const finish: ModelPart = { type: 'finish', reason: 'stop', usage, model: 'test:1' }
const stamp = { runId: 'r1', threadId: 't1', agentName: '' }

describe('an agent', () => {
  const config = (): AgentConfig => ({
    instruction: SECRET,
    tools: [],
    input: { messages: [user('u1', SECRET)] },
    runOptions: {},
  })

  it('is logged when it starts and when it ends, with duration, tokens and outcome', async () => {
    const { handler, lines, clock, ctx } = recording()
    const run = (await handler.beforeAgent?.(ctx, config())) ?? ctx
    clock.advance(250)
    await handler.afterAgent?.(run, { outcome: 'complete', text: SECRET, messages: [], usage })
    expect(lines).toEqual([
      { level: 'info', time: 1000, ...stamp, event: 'agent-start', messages: 1, tools: 0 },
      { level: 'info', time: 1250, ...stamp, event: 'agent-end', outcome: 'complete', durationMs: 250, usage },
    ])
  })

  it('that failed is an error, with who failed but not with words', async () => {
    const { handler, lines, ctx } = recording()
    const details = { handler: 'broken', hook: 'beforeAgent', more: SECRET }
    const error = new KernelError('HANDLER_FAILED', SECRET, { details }).toJSON()
    await handler.afterAgent?.(ctx, { outcome: 'failed', text: SECRET, messages: [], usage, error })
    expect(lines).toMatchObject([
      { level: 'error', event: 'agent-end', error: { code: 'HANDLER_FAILED', handler: 'broken', hook: 'beforeAgent' } },
    ])
    expect(lines[0]).not.toHaveProperty('durationMs')
    expect(JSON.stringify(lines)).not.toContain(SECRET)
  })

  it('is logged with its texts where that is asked for', async () => {
    const { handler, lines, ctx } = recording({ content: true })
    await handler.beforeAgent?.(ctx, config())
    await handler.afterAgent?.(ctx, { outcome: 'complete', text: SECRET, messages: [], usage })
    expect(lines).toMatchObject([{ input: SECRET }, { text: SECRET }])
  })
})

describe('a model call', () => {
  it('is logged with duration, tokens, finish reason and retries, and passes on what the model says', async () => {
    const { handler, lines, clock, ctx } = recording()
    const parts: readonly ModelPart[] = [{ type: 'text-delta', delta: SECRET }, { type: 'restart' }, finish]
    const next: CallModel = (...given) => {
      clock.advance(40)
      return answer(...parts)(...given)
    }
    expect(await ask(handler, ctx, next)).toEqual(parts)
    expect(lines).toEqual([
      {
        level: 'info',
        time: 1040,
        ...stamp,
        event: 'model-call',
        step: 'model:0',
        status: 'complete',
        durationMs: 40,
        model: 'test:1',
        usage,
        finishReason: 'stop',
        restarts: 1,
      },
    ])
  })

  it('is logged with the text of the last attempt if that is wanted', async () => {
    const { handler, lines, ctx } = recording({ content: true })
    const delta = (text: string): ModelPart => ({ type: 'text-delta', delta: text })
    await ask(handler, ctx, answer(delta('x'), { type: 'restart' }, delta('Hel'), delta('lo'), finish))
    expect(lines).toMatchObject([{ text: 'Hello' }])
  })

  it.each([
    ['MODEL_FAILED', 'failed', 'error'],
    ['ABORTED', 'cancelled', 'info'],
  ])('that ends with %s is %s, and the error goes on', async (code, status, level) => {
    const { handler, lines, ctx } = recording()
    const error = new KernelError(code, SECRET, { retryable: true })
    await expect(ask(handler, ctx, () => stream(() => Promise.reject(error)))).rejects.toBe(error)
    expect(lines).toMatchObject([{ event: 'model-call', level, status, error: { code, retryable: true } }])
    expect(JSON.stringify(lines)).not.toContain(SECRET)
  })
})

describe('a tool call', () => {
  it('is logged with its duration, and without arguments and result', async () => {
    const { handler, lines, clock, ctx } = recording()
    const call = wrapped(handler, async () => {
      clock.advance(7)
      return { content: SECRET, display: SECRET, data: SECRET }
    })
    await call(ctx, callOf({ SECRET }, { callId: 'c1' }))
    const tool = { step: 'tool:0:0', callId: 'c1', tool: 'look', status: 'complete', durationMs: 7 }
    expect(lines).toEqual([{ level: 'info', time: 1007, ...stamp, event: 'tool-call', ...tool }])
  })

  it('is logged with arguments, result and words of the error where that is asked for', async () => {
    const { handler, lines, ctx } = recording({ content: true })
    const error = { code: 'TOOL_FAILED', message: 'broken' }
    await wrapped(handler, async () => ({ content: 'no', error }))(ctx, callOf({ at: 1 }))
    expect(lines).toMatchObject([{ arguments: '{"at":1}', result: 'no', error, level: 'warn', status: 'failed' }])
  })

  it.each([
    ['complete', {}],
    ['failed', { error: { code: 'TOOL_FAILED', message: 'broken' } }],
  ])('that was %s after several attempts is logged with their number', async (status, more) => {
    const { handler, lines, ctx } = recording()
    await wrapped(handler, async () => ({ content: '', attempts: 3, ...more }))(ctx, callOf())
    expect(lines).toMatchObject([{ event: 'tool-call', status, attempts: 3 }])
  })

  it.each([
    ['ABORTED', 'cancelled', 'info'],
    ['INTERRUPTED', 'interrupted', 'info'],
    ['HANDLER_FAILED', 'failed', 'error'],
  ])('that ends with %s is %s', async (code, status, level) => {
    const { handler, lines, ctx } = recording()
    const error = new KernelError(code, SECRET)
    await expect(wrapped(handler, () => Promise.reject(error))(ctx, callOf())).rejects.toBe(error)
    expect(lines).toMatchObject([{ event: 'tool-call', status, level, error: { code } }])
    expect(JSON.stringify(lines)).not.toContain(SECRET)
  })

  it('that streams is logged when it has ended', async () => {
    const { handler, lines, ctx } = recording()
    expect((await streamedThrough(handler, ctx, callOf(), ['a', 'b'])).shown).toEqual(['a', 'b'])
    expect(lines).toMatchObject([{ event: 'tool-call', status: 'complete' }])
  })
})

it('says which trace a line belongs to, by the step of its call', async () => {
  const asked: unknown[] = []
  const trace = (_: RunContext, step?: string) => {
    asked.push(step)
    return step === undefined ? undefined : { traceId: 't', spanId: step }
  }
  const { handler, lines, ctx } = recording({ trace })
  await ask(handler, ctx, answer(finish))
  await wrapped(handler, async () => ({ content: '' }))(ctx, callOf())
  await handler.afterAgent?.(ctx, { outcome: 'complete', text: '', messages: [], usage })
  expect(asked).toEqual(['model:0', 'tool:0:0', undefined])
  expect(lines.map(({ traceId, spanId }) => [traceId, spanId])).toEqual([
    ['t', 'model:0'],
    ['t', 'tool:0:0'],
    [undefined, undefined],
  ])
})

it('writes only what matters enough', async () => {
  const { handler, lines, ctx } = recording({ level: 'warn' })
  await ask(handler, ctx, answer(finish))
  await wrapped(handler, async () => ({ content: '', error: { code: 'TOOL_FAILED', message: '' } }))(ctx, callOf())
  await handler.afterAgent?.(ctx, { outcome: 'failed', text: '', messages: [], usage })
  expect(lines.map(({ level }) => level)).toEqual(['warn', 'error'])
})

it('writes plain JSON', async () => {
  const { handler, lines, ctx } = recording({ content: true })
  await ask(handler, ctx, answer(finish))
  await wrapped(handler, async () => ({ content: '' }))(ctx, callOf())
  await handler.afterAgent?.(ctx, { outcome: 'complete', text: '', messages: [], usage })
  expect(JSON.parse(JSON.stringify(lines))).toStrictEqual(lines)
})

it.each([
  ['throws', throwing],
  ['rejects', () => Promise.reject(new Error('the disk is full'))],
  ['never settles', () => new Promise<void>(() => {})],
])('is not hurt by a log that %s', async (_, log) => {
  const handler = logging({ log })
  const result = { content: 'fine' }
  expect(await wrapped(handler, async () => result)(contextOf(), callOf())).toBe(result)
  expect(await ask(handler, contextOf(), answer(finish))).toEqual([finish])
  await settled()
})

it.each([
  [{}, 'log must be a function, got undefined'],
  [{ log: 'console' }, 'log must be a function, got "console"'],
  [{ log: throwing, level: 'loud' }, 'level must be one of info, warn, error, got "loud"'],
  [{ log: throwing, trace: 'on' }, 'trace must be a function, got "on"'],
  [{ log: throwing, content: 'yes' }, 'content must be true or false, got "yes"'],
])('refuses the options %j', (options, message) => {
  expect(() => logging(options as never)).toThrow(
    expect.objectContaining({ code: 'CONFIG_INVALID', message: `logging: ${message}` }),
  )
})
