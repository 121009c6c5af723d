import {
  type AgentHandler,
  type ChatModel,
  JOURNAL,
  type Journal,
  KernelError,
  type ModelPart,
  type RunContext,
  type RunResult,
  textOf,
} from '@troupe/kernel'
import { startRun } from '@troupe/kernel/run'
import { fakeClock, record, scriptedModel } from '@troupe/testkit'
import { beforeEach, describe, expect, test } from 'vitest'
import {
  brief,
  calling,
  expectSound,
  type FinishedRun,
  finishedRun,
  hello,
  idle,
  noUnhandledRejection,
  type Options,
  runAgent,
  type Turns,
  timed,
  tool,
  user,
} from '../chat-model.fixture.ts'
import { chatModelAgent } from '../index.ts'

beforeEach(noUnhandledRejection)

const refused = new KernelError('MODEL_FAILED', 'm: bad request')
const busy = new KernelError('MODEL_FAILED', 'm: busy', { retryable: true })
const half = { text: ['Half ', 'an answer'], error: { at: 'mid', error: refused } } as const
const waiting = { text: ['Half ', 'an answer'], hang: 'mid' } as const
const finish: ModelPart = { type: 'finish', reason: 'stop', usage: { inputTokens: 1, outputTokens: 1 } }

/** Runs an agent and aborts it once its model waits. */
async function aborted(turns: Turns, options: Options = {}): Promise<FinishedRun> {
  const controller = new AbortController()
  const model = scriptedModel(turns)
  const agent = chatModelAgent({ name: 'a', model, ...options })
  const reading = record(startRun(agent, hello, { runId: 'R', signal: controller.signal }))
  await idle()
  controller.abort()
  return finishedRun(await reading, hello, model.requests)
}

const messageEnds = ({ events }: FinishedRun) => events.filter((event) => event.type === 'message-end')

describe('an answer that was cut off', () => {
  test('by an abort stays in the history as a partial message, and is the text of the run', async () => {
    const run = await aborted([waiting])
    expect(messageEnds(run)).toMatchObject([{ message: { role: 'assistant', content: 'Half ', partial: true } }])
    expect(messageEnds(run)[0]).not.toHaveProperty('dropped')
    expect(run.end).toMatchObject({ outcome: 'cancelled', text: 'Half ' })
    expectSound(run)
  })

  test('by an error without a retry stays as well', async () => {
    const run = await runAgent([half], { retry: false })
    expect(messageEnds(run)).toMatchObject([{ message: { content: 'Half ', partial: true } }])
    expect(run.end).toMatchObject({ outcome: 'failed', text: 'Half ', error: { message: 'm: bad request' } })
    expectSound(run)
  })

  test('by the error of the last attempt stays; those of the attempts before are dropped', async () => {
    const attempt = (word: string) => ({ text: [word, '…'], error: { at: 'mid', error: busy } }) as const
    const { running, pass } = timed([attempt('One'), attempt('Two'), attempt('Three')])
    await pass(500)
    await pass(1_000)
    const run = await running
    expect(messageEnds(run)).toMatchObject([
      { message: { content: 'One' }, dropped: true },
      { message: { content: 'Two' }, dropped: true },
      { message: { content: 'Three', partial: true } },
    ])
    expect(messageEnds(run)[0]?.message).not.toHaveProperty('partial')
    expect([run.end?.text, brief(run.history)]).toEqual(['Three', ['user Hello', 'assistant Three']])
    expectSound(run)
  })

  test('stays if no later attempt has said anything: it is what the reader still sees', async () => {
    const silent = { error: { at: 'before', error: busy } } as const
    const { running, pass } = timed([{ text: ['One', '…'], error: { at: 'mid', error: busy } }, silent, silent])
    await pass(500)
    await pass(1_000)
    expect(messageEnds(await running)).toMatchObject([{ message: { content: 'One', partial: true } }])
  })

  test('by an abort in the pause before a retry stays', async () => {
    const clock = fakeClock()
    const controller = new AbortController()
    const model = scriptedModel([{ text: ['One', '…'], error: { at: 'mid', error: busy } }, 'Two'])
    const agent = chatModelAgent({ name: 'a', model })
    const reading = record(startRun(agent, hello, { clock, signal: controller.signal }))
    await idle()
    controller.abort()
    const run = finishedRun(await reading, hello)
    expect(messageEnds(run)).toMatchObject([{ message: { content: 'One', partial: true } }])
    expect([run.end?.outcome, clock.pending]).toEqual(['cancelled', 0])
  })

  test('is dropped if a fallback answers', async () => {
    const run = await runAgent([half], { retry: false, fallbacks: [scriptedModel(['Whole.'])] })
    expect(messageEnds(run)).toMatchObject([{ message: { content: 'Half ' }, dropped: true }, { message: {} }])
    expect([run.end?.text, run.end?.outcome]).toEqual(['Whole.', 'complete'])
  })

  test.each(['modelTimeoutMs', 'runTimeoutMs'] as const)('by %s stays', async (limit) => {
    const { running, pass, clock } = timed([waiting], { [limit]: 50, retry: false })
    await pass(50)
    const run = await running
    expect(messageEnds(run)).toMatchObject([{ message: { content: 'Half ', partial: true } }])
    expect([run.errors.map(({ code }) => code), run.end?.text, clock.pending]).toEqual([['TIMEOUT'], 'Half ', 0])
    expectSound(run)
  })

  test('is not partial after a soft cancel, which waits for the model', async () => {
    let mode: 'after-model' | undefined
    const turn = () => {
      mode = 'after-model'
      return { text: ['A whole ', 'answer.'], toolCalls: [{ id: 't', name: 't' }] }
    }
    const run = await runAgent([turn], { tools: [tool('t')] }, hello, { cancelling: () => mode })
    expect(messageEnds(run)).toMatchObject([{ message: { content: 'A whole answer.', toolCalls: [{ id: 't' }] } }])
    expect(messageEnds(run)[0]?.message).not.toHaveProperty('partial')
    expect(run.end?.outcome).toBe('cancelled')
  })

  test('is sent to the model in a later turn as an ordinary message', async () => {
    const first = await runAgent([half], { retry: false })
    const next = await runAgent(['Go on.'], {}, { messages: [...first.history, user('And?', 'u2')] })
    expect(brief(next.requests[0]?.messages)).toEqual(['user Hello', 'assistant Half ', 'user And?'])
    expect(next.end?.outcome).toBe('complete')
  })

  test('is in the result that `afterAgent` gets', async () => {
    const results: RunResult[] = []
    const listen: AgentHandler = { name: 'listen', afterAgent: (_, result) => void results.push(result) }
    await runAgent([half], { retry: false, handlers: [listen] })
    await aborted([waiting], { handlers: [listen] })
    expect(results).toMatchObject([
      { outcome: 'failed', text: 'Half ', messages: [{ content: 'Half ', partial: true }] },
      { outcome: 'cancelled', text: 'Half ', messages: [{ content: 'Half ', partial: true }] },
    ])
  })

  test('after a turn with tools leaves the turn before it as it was', async () => {
    const run = await runAgent([calling('t'), half], { retry: false, tools: [tool('t')] })
    expect(brief(run.history)).toEqual(['user Hello', 'assistant t', 'tool t done', 'assistant Half '])
    expectSound(run)
  })
})

describe('the calls of an answer that was cut off', () => {
  const parts: readonly ModelPart[] = [
    { type: 'text-delta', delta: 'Let me see.' },
    { type: 'tool-call-start', callId: 'whole', name: 't' },
    { type: 'tool-call-delta', callId: 'whole', delta: '{}' },
    { type: 'tool-call-end', callId: 'whole' },
    { type: 'tool-call-start', callId: 'begun', name: 't' },
    { type: 'tool-call-delta', callId: 'begun', delta: '{"ci' },
    ...Array(6).fill({ type: 'text-delta', delta: '' }),
    finish,
  ]

  test.each([
    [
      'an error',
      () => runAgent([{ parts, error: { at: 'mid', error: refused } }], { retry: false, tools: [tool('t')] }),
    ],
    ['an abort', () => aborted([{ parts, hang: 'mid' }], { tools: [tool('t')] })],
  ])('by %s are closed as dropped, do not run and are in no history', async (_, start) => {
    const run = await start()
    expect(run.toolEnds).toMatchObject([
      { callId: 'whole', status: 'dropped' },
      { callId: 'begun', status: 'dropped' },
    ])
    expect([run.started, brief(run.history)]).toEqual([[], ['user Hello', 'assistant Let me see.']])
    expect(messageEnds(run)[0]?.message).not.toHaveProperty('toolCalls')
    expect(run.end).not.toHaveProperty('openCallIds')
    expectSound(run)
  })

  test('drop the answer if it has nothing else', async () => {
    const [, ...calls] = parts
    const run = await runAgent([{ parts: calls, error: { at: 'after', error: refused } }], { retry: false })
    expect(messageEnds(run)).toMatchObject([{ dropped: true }])
    expect([run.end?.text, brief(run.history)]).toEqual(['', ['user Hello']])
  })
})

describe('what stays of an answer that was cut off', () => {
  const after = async (...parts: readonly ModelPart[]) => {
    const run = await runAgent([{ parts: [...parts, finish], error: { at: 'after', error: refused } }], {
      retry: false,
    })
    expectSound(run)
    return messageEnds(run)[0]
  }

  test.each<[string, ModelPart]>([
    ['nothing but white space', { type: 'text-delta', delta: ' \n' }],
    ['nothing but reasoning', { type: 'reasoning-delta', delta: 'Hm.' }],
  ])('%s is dropped', async (_, part) => {
    const end = await after(part)
    expect(end?.dropped).toBe(true)
    expect(end?.message).not.toHaveProperty('partial')
  })

  test('has its reasoning, its text and its files, without what refers to an answer that the provider has not finished', async () => {
    const metadata = { vendor: { item: 'i1' } }
    const end = await after(
      { type: 'reasoning-delta', delta: 'Hm.' },
      { type: 'part-end', encrypted: 'x', metadata },
      { type: 'text-delta', delta: '' },
      { type: 'part-end', metadata },
      { type: 'text-delta', delta: 'See:' },
      { type: 'part-end', metadata },
      { type: 'file', file: { type: 'file', mediaType: 'image/png', data: 'aGk=', metadata } },
    )
    expect(end?.message).toEqual({
      id: expect.any(String),
      role: 'assistant',
      agentName: 'a',
      partial: true,
      content: [
        { type: 'reasoning', text: 'Hm.' },
        { type: 'text', text: 'See:' },
        { type: 'file', mediaType: 'image/png', data: 'aGk=' },
      ],
    })
  })

  test('is one text where it had nothing else', async () => {
    const end = await after({ type: 'text-delta', delta: 'One.' }, { type: 'part-end', metadata: { vendor: {} } })
    expect(end?.message.content).toBe('One.')
  })

  test('is a file alone', async () => {
    const end = await after({ type: 'file', file: { type: 'file', mediaType: 'image/png', data: 'aGk=' } })
    expect(end?.message).toMatchObject({ partial: true, content: [{ type: 'file' }] })
    expect(textOf(end?.message.content ?? 'no message')).toBe('')
  })
})

describe('an answer that a handler refused', () => {
  test('in `wrapModelCall`, while it streamed, is dropped', async () => {
    const guard: AgentHandler = {
      name: 'guard',
      async *wrapModelCall(ctx, request, next) {
        for await (const part of next(ctx, request)) {
          yield part
          if (part.type === 'text-delta') throw new Error('not in this house')
        }
      },
    }
    const run = await runAgent(['Rude.'], { handlers: [guard] })
    expect(messageEnds(run)).toMatchObject([{ message: { content: 'Rude.' }, dropped: true }])
    expect([run.end?.text, run.errors.map(({ code }) => code)]).toEqual(['', ['HANDLER_FAILED']])
    expectSound(run)
  })

  test('in `afterModelRewriteHistory`, when it was whole, is dropped with its tokens', async () => {
    const guard: AgentHandler = {
      name: 'guard',
      afterModelRewriteHistory() {
        throw new Error('not in this house')
      },
    }
    const run = await runAgent(['Rude.'], { handlers: [guard] })
    expect(messageEnds(run)).toMatchObject([{ message: { content: 'Rude.' }, dropped: true, usage: {} }])
    expect(run.end?.text).toBe('')
  })

  test('does not count if the run was aborted: then it was cut off', async () => {
    const through: AgentHandler = {
      name: 'through',
      async *wrapModelCall(ctx, request, next) {
        try {
          yield* next(ctx, request)
        } catch {
          throw new Error('own words')
        }
      },
    }
    const run = await aborted([waiting], { handlers: [through] })
    expect(messageEnds(run)).toMatchObject([{ message: { content: 'Half ', partial: true } }])
    expect(run.end?.outcome).toBe('cancelled')
  })

  test('but a failure of the model that passes through a handler is a cut', async () => {
    const through: AgentHandler = { name: 'through', wrapModelCall: (ctx, request, next) => next(ctx, request) }
    const run = await runAgent([half], { retry: false, handlers: [through] })
    expect(messageEnds(run)).toMatchObject([{ message: { content: 'Half ', partial: true } }])
  })
})

test('a reader that leaves cuts the answer off: `afterAgent` gets it, and the run ends', async () => {
  const results: RunResult[] = []
  const listen: AgentHandler = { name: 'listen', afterAgent: (_, result) => void results.push(result) }
  const run = startRun(chatModelAgent({ name: 'a', model: scriptedModel([waiting]), handlers: [listen] }), hello)
  for await (const { type } of run) if (type === 'text-delta') break
  await expect(Promise.resolve(run)).rejects.toMatchObject({ code: 'ABORTED' })
  expect(results).toMatchObject([{ outcome: 'cancelled', messages: [{ content: 'Half ', partial: true }] }])
})

test('a run that is replayed from its journal ends its answers in the same way', async () => {
  const guard: AgentHandler = {
    name: 'guard',
    async *wrapModelCall(ctx, request, next) {
      for await (const part of next(ctx, request)) {
        yield part
        if (part.type === 'text-delta' && part.delta === 'Rude.') throw new Error('not in this house')
      }
    },
  }
  for (const turn of [half, 'Rude.']) {
    const kept = new Map<string, string>()
    const journal: Journal = {
      async perform(step, work) {
        if (!kept.has(step)) kept.set(step, JSON.stringify(await work()))
        return JSON.parse(kept.get(step) ?? 'null')
      },
    }
    const prepare = (ctx: RunContext) => ctx.with(JOURNAL, journal)
    const options = { retry: false, handlers: [guard] } as const
    const first = await runAgent([turn], options, hello, { prepare })
    const again = await runAgent([], options, hello, { prepare })
    expect(messageEnds(again)).toEqual(messageEnds(first))
    expect([again.end?.text, again.requests]).toEqual([first.end?.text, []])
  }
})

test('a run that is stopped while it plays what readers saw of an answer takes all of it back', async () => {
  const abort = new AbortController()
  const journal: Journal = {
    perform: (_, work) => work(),
    shown: () => ['Half ', 'an ', 'answer'].map((delta) => ({ type: 'text-delta', delta })),
  }
  const agent = chatModelAgent({ name: 'a', model: scriptedModel(['A whole answer']) })
  const ends: (readonly [string, boolean | undefined])[] = []
  const settings = { signal: abort.signal, prepare: (ctx: RunContext) => ctx.with(JOURNAL, journal) }
  for await (const event of startRun(agent, 'hi', settings).eventsWithoutThrowing()) {
    if (event.type === 'text-delta') abort.abort()
    if (event.type === 'message-end') ends.push([textOf(event.message.content), event.dropped])
  }
  expect(ends).toEqual([['Half an answer', true]])
})

describe('what a model says after its run was stopped', () => {
  const typesOf = async (run: ReturnType<typeof startRun>) => {
    const types: string[] = []
    for await (const { type } of run.eventsWithoutThrowing()) if (/message|delta/.test(type)) types.push(type)
    return types
  }

  test('begins no answer, so it ends none', async () => {
    const abort = new AbortController()
    const deaf: ChatModel = {
      name: 'deaf',
      async *stream() {
        abort.abort()
        yield { type: 'text-delta', delta: 'Too late' }
        yield finish
      },
    }
    const run = startRun(chatModelAgent({ name: 'a', model: deaf }), 'hi', { signal: abort.signal })
    expect(await typesOf(run)).toEqual([])
  })

  test('is not part of the answer that it has begun', async () => {
    const abort = new AbortController()
    const deaf: ChatModel = {
      name: 'deaf',
      async *stream() {
        yield { type: 'text-delta', delta: 'Half ' }
        await idle()
        abort.abort()
        yield { type: 'text-delta', delta: 'an answer' }
        yield { type: 'tool-call-start', callId: 'c', name: 't' }
        yield finish
      },
    }
    const run = startRun(chatModelAgent({ name: 'a', model: deaf }), 'hi', { signal: abort.signal })
    const { events } = await record(run)
    expect(events.flatMap((event) => (event.type === 'message-end' ? [event.message] : []))).toMatchObject([
      { content: 'Half ', partial: true },
    ])
    expect(events.filter(({ type }) => type === 'tool-end')).toEqual([])
  })

  test('is not shown when it is played back from a journal', async () => {
    const kept = new Map<string, string>()
    const abort = new AbortController()
    const journal = (stops: boolean): Journal => ({
      async perform(step, work) {
        if (!kept.has(step)) kept.set(step, JSON.stringify(await work()))
        if (stops) abort.abort()
        return JSON.parse(kept.get(step) ?? 'null')
      },
    })
    const agent = chatModelAgent({ name: 'a', model: scriptedModel(['A whole answer']) })
    const put = (stops: boolean) => ({ runId: 'R', prepare: (ctx: RunContext) => ctx.with(JOURNAL, journal(stops)) })
    expect(await typesOf(startRun(agent, 'hi', put(false)))).toEqual(['message-start', 'text-delta', 'message-end'])
    expect(await typesOf(startRun(agent, 'hi', { ...put(true), signal: abort.signal }))).toEqual([])
  })
})
