import {
  type AgentHandler,
  type AgentInput,
  KernelError,
  type RunContext,
  type RunResult,
  stream,
  withBeforeAgent,
  withInvokableToolWrapper,
} from '@troupe/kernel'
import type { HookName } from '@troupe/kernel/kit'
import { startRun } from '@troupe/kernel/run'
import { scriptedModel } from '@troupe/testkit'
import { beforeEach, describe, expect, test } from 'vitest'
import { calling, expectSound, hello, noUnhandledRejection, runAgent, streaming, tool } from '../chat-model.fixture.ts'
import { type AgentMiddleware, chatModelAgent } from '../index.ts'

beforeEach(noUnhandledRejection)

const cause = new Error('boom')
const boom = (): never => {
  throw cause
}
const HOOKS = {
  beforeAgent: boom,
  beforeModelRewriteHistory: boom,
  afterModelRewriteHistory: boom,
  wrapInvokableToolCall: boom,
  wrapStreamableToolCall: boom,
  wrapModelCall: boom,
  afterAgent: boom,
} satisfies Required<Omit<AgentHandler, 'name'>>
const options = { tools: [tool('t'), streaming('s')] }
/** Calls a tool of the kind that the hook wraps. */
const turnsFor = (hook: string) => [calling(hook === 'wrapStreamableToolCall' ? 's' : 't'), 'Done.']

describe('6.4 an error in a hook stops the chain and ends the run with one error event naming handler and hook', () => {
  test.each(Object.keys(HOOKS) as HookName[])('%s throws', async (hook) => {
    const later: string[] = []
    const follower: AgentHandler = {
      name: 'follower',
      beforeAgent: () => void later.push('beforeAgent'),
      beforeModelRewriteHistory: () => void later.push('beforeModelRewriteHistory'),
      afterModelRewriteHistory: () => void later.push('afterModelRewriteHistory'),
    }
    const finished = await runAgent(turnsFor(hook), {
      ...options,
      handlers: [{ name: 'broken', [hook]: HOOKS[hook] }, follower],
    })
    expect(finished.errors).toMatchObject([{ code: 'HANDLER_FAILED', details: { handler: 'broken', hook } }])
    expect(finished.errors[0]?.message).toContain('boom')
    expect(finished.end).toMatchObject({ outcome: 'failed', error: { code: 'HANDLER_FAILED' } })
    if (!hook.startsWith('wrap')) expect(hook === 'afterAgent' || !later.includes(hook)).toBe(true)
    expectSound(finished)
  })

  test.each(Object.keys(HOOKS) as HookName[])('%s rejects or its stream does', async (hook) => {
    const failing = {
      ...Object.fromEntries(Object.keys(HOOKS).map((name) => [name, async () => boom()])),
      async *wrapModelCall() {
        yield boom()
      },
    }
    const finished = await runAgent(turnsFor(hook), {
      ...options,
      handlers: [{ name: 'broken', [hook]: failing[hook as never] }],
    })
    expect(finished.errors).toMatchObject([{ code: 'HANDLER_FAILED', details: { handler: 'broken', hook } }])
    expectSound(finished)
  })

  const stale: Record<string, AgentMiddleware> = {
    beforeModelRewriteHistory: { beforeChatModel: boom },
    afterModelRewriteHistory: { afterChatModel: boom },
    wrapInvokableToolCall: { wrapToolCall: { invokable: () => boom } },
    wrapStreamableToolCall: { wrapToolCall: { streamable: () => boom } },
  }
  test.each(Object.entries(stale))(
    'a legacy middleware that throws in %s is named legacy-middleware',
    async (hook, one) => {
      const { errors } = await runAgent(turnsFor(hook), { ...options, middlewares: [one] })
      expect(errors).toMatchObject([{ code: 'HANDLER_FAILED', details: { handler: 'legacy-middleware', hook } }])
    },
  )

  test.each([
    ['wrapStreamableToolCall', 't'],
    ['wrapInvokableToolCall', 's'],
  ] as const)('%s throws where it is adapted: the hook that the handler has is named', async (hook, name) => {
    const { errors } = await runAgent([calling(name)], { ...options, handlers: [{ name: 'broken', [hook]: boom }] })
    expect(errors).toMatchObject([{ code: 'HANDLER_FAILED', details: { handler: 'broken', hook } }])
  })

  test('awaiting the run rejects with the error itself, which keeps its cause', async () => {
    const agent = chatModelAgent({ name: 'a', model: scriptedModel(['Hi.']), handlers: [withBeforeAgent(boom)] })
    await expect(startRun(agent, hello)).rejects.toMatchObject({ code: 'HANDLER_FAILED', cause })
  })

  test('an error with a code of its own keeps code and details; handler and hook are added', async () => {
    const coded = new KernelError('NOT_FOUND', 'user: unknown', { details: { user: 'ann' } })
    const handlers = [
      withBeforeAgent(() => {
        throw coded
      }),
    ]
    const agent = chatModelAgent({ name: 'a', model: scriptedModel(['Hi.']), handlers })
    await expect(startRun(agent, hello)).rejects.toMatchObject({
      code: 'NOT_FOUND',
      message: 'handler withBeforeAgent: beforeAgent failed, user: unknown',
      details: { user: 'ann', handler: 'withBeforeAgent', hook: 'beforeAgent' },
      cause: coded,
    })
  })

  test('an error before the model means no model call; one in a wrap means no further one', async () => {
    const before = await runAgent(turnsFor(''), { ...options, handlers: [withBeforeAgent(boom)] })
    const wrap = await runAgent(turnsFor(''), { ...options, handlers: [withInvokableToolWrapper(boom)] })
    expect([before.requests.length, wrap.requests.length]).toEqual([0, 1])
  })

  test('a failed wrap lets the siblings of its call settle first', async () => {
    const { toolEnds, end } = await runAgent([calling('bad', 'good')], {
      tools: [tool('bad'), tool('good')],
      handlers: [withInvokableToolWrapper((ctx, input, next) => (input.name === 'bad' ? boom() : next(ctx, input)))],
    })
    expect(end?.outcome).toBe('failed')
    expect(toolEnds).toContainEqual(expect.objectContaining({ callId: 'good', status: 'complete' }))
  })

  const own = ['ABORTED', 'INTERRUPTED'].flatMap((code) =>
    Object.keys(HOOKS).map((hook) => [code, hook as HookName] as const),
  )
  test.each(own)('%s thrown by %s in a run that was not stopped is the handler’s failure', async (code, hook) => {
    const thrown = new KernelError(code, 'mine: no')
    const raise = () => {
      throw thrown
    }
    const finished = await runAgent(
      turnsFor(hook),
      { ...options, handlers: [{ name: 'broken', [hook]: raise }] },
      hello,
      {
        canInterrupt: true,
      },
    )
    expect(finished.errors).toMatchObject([{ code: 'HANDLER_FAILED', details: { handler: 'broken', hook } }])
    expect(finished.end?.outcome).toBe('failed')
    expectSound(finished)
  })

  test('a handler’s own abort in a stream is its failure too', async () => {
    const failing = () => stream<never>(() => Promise.reject(new KernelError('ABORTED', 'mine: no')))
    for (const [hook, one] of Object.entries({
      wrapModelCall: failing,
      wrapStreamableToolCall: async () => ({ stream: failing(), result: Promise.resolve({ content: '' }) }),
    })) {
      const { errors } = await runAgent(turnsFor(hook), { ...options, handlers: [{ name: 'broken', [hook]: one }] })
      expect(errors).toMatchObject([{ code: 'HANDLER_FAILED', details: { handler: 'broken', hook } }])
    }
  })

  test.each(['beforeAgent', 'beforeModelRewriteHistory'] as const)(
    'a question that %s asks interrupts',
    async (hook) => {
      const asking: AgentHandler = { name: 'asking', [hook]: (ctx: RunContext) => ctx.interrupt({ reason: 'input' }) }
      const { end, errors } = await runAgent(['Hi.'], { handlers: [asking] }, hello, { canInterrupt: true })
      expect([end?.outcome, end?.interrupts?.length, errors]).toEqual(['interrupted', 1, []])
    },
  )

  test('a hook that stops because the run was asked to stop is not a handler error', async () => {
    const handlers = [
      withBeforeAgent((ctx) => {
        throw new KernelError('ABORTED', `mine: ${ctx.cancelling}`)
      }),
    ]
    const { end, errors } = await runAgent(['Hi.'], { handlers }, hello, { cancelling: () => 'after-model' })
    expect([end?.outcome, errors]).toEqual(['cancelled', []])
  })

  test('a hook that fails because the run was aborted is not a handler error', async () => {
    const controller = new AbortController()
    const { end, errors } = await runAgent(
      ['Hi.'],
      {
        handlers: [
          withBeforeAgent((ctx) => {
            controller.abort()
            ctx.signal.throwIfAborted()
          }),
        ],
      },
      hello,
      { signal: controller.signal },
    )
    expect([end?.outcome, errors]).toEqual(['cancelled', []])
  })
})

describe('afterAgent', () => {
  const logsEnd = (name: string, log: string[], more: Partial<AgentHandler> = {}): AgentHandler => ({
    name,
    beforeAgent: () => void log.push(`before ${name}`),
    afterAgent: (_, { outcome }) => void log.push(`after ${name} ${outcome}`),
    ...more,
  })

  test('runs exactly for the handlers whose beforeAgent was reached', async () => {
    const log: string[] = []
    const handlers = [logsEnd('h0', log), logsEnd('h1', log, { beforeAgent: boom }), logsEnd('h2', log)]
    await runAgent(['Hi.'], { handlers })
    expect(log).toEqual(['before h0', 'after h0 failed', 'after h1 failed'])
  })

  test('is called without a beforeAgent too', async () => {
    const results: RunResult[] = []
    await runAgent([{ text: 'Hi.', usage: { inputTokens: 3, outputTokens: 4 } }], {
      handlers: [{ name: 'end', afterAgent: (_, result) => void results.push(result) }],
    })
    expect(results).toMatchObject([{ outcome: 'complete', text: 'Hi.', usage: { inputTokens: 3, outputTokens: 4 } }])
  })

  const interrupting = tool('ask', async (_, ctx) => `${await ctx.interrupt({ reason: 'input' })}`)
  const outcomes: Record<string, () => Promise<RunResult[]>> = {
    complete: () => results([calling('t'), 'Done.']),
    failed: () => results([{ error: { at: 'before', error: new KernelError('MODEL_FAILED', 'm: no') } }]),
    interrupted: () => results([calling('ask')]),
    cancelled: () => {
      const controller = new AbortController()
      return results(
        [
          () => {
            controller.abort()
            return 'Hi.'
          },
        ],
        controller.signal,
      )
    },
  }
  async function results(script: Parameters<typeof runAgent>[0], signal?: AbortSignal): Promise<RunResult[]> {
    const seen: RunResult[] = []
    const handlers: AgentHandler[] = [{ name: 'end', afterAgent: (_, result) => void seen.push(result) }]
    const settings = { canInterrupt: true, ...(signal && { signal }) }
    await runAgent(script, { handlers, tools: [tool('t'), interrupting] }, hello, settings)
    return seen
  }
  test.each(Object.entries(outcomes))('is called once in a run that is %s, with that outcome', async (outcome, run) => {
    const seen = await run()
    expect(seen).toHaveLength(1)
    expect(seen[0]?.outcome).toBe(outcome)
    if (outcome === 'failed') expect(seen[0]?.error).toMatchObject({ code: 'MODEL_FAILED' })
    if (outcome === 'interrupted') expect(seen[0]?.interrupts).toMatchObject([{ callId: 'ask', reason: 'input' }])
  })

  test('knows the open calls of a run that awaits them', async () => {
    const seen: RunResult[] = []
    const slow = tool('slow', undefined, { longRunning: true })
    const handlers: AgentHandler[] = [{ name: 'end', afterAgent: (_, result) => void seen.push(result) }]
    await runAgent([calling('slow')], { tools: [slow], handlers })
    expect(seen).toMatchObject([{ outcome: 'complete', openCallIds: ['slow'] }])
  })

  test('an error in it does not replace an earlier one', async () => {
    const log: string[] = []
    const handlers = [
      logsEnd('h0', log, { afterAgent: boom }),
      logsEnd('h1', log, {
        beforeModelRewriteHistory: () => {
          throw new Error('first')
        },
      }),
    ]
    const { errors } = await runAgent(['Hi.'], { handlers })
    expect(errors).toMatchObject([{ details: { handler: 'h1', hook: 'beforeModelRewriteHistory' } }])
    expect(log).toContain('after h1 failed')
  })

  test('an error in it fails a run that was complete, and the others still get theirs', async () => {
    const log: string[] = []
    const finished = await runAgent(['Hi.'], {
      handlers: [logsEnd('h0', log, { afterAgent: boom }), logsEnd('h1', log)],
    })
    expect(finished.errors).toMatchObject([{ code: 'HANDLER_FAILED', details: { handler: 'h0', hook: 'afterAgent' } }])
    expect(log.filter((line) => line.startsWith('after h1'))).toHaveLength(1)
    expectSound(finished)
  })
})

test('the input of a run is not changed by handlers that change their lists in place', async () => {
  const input: AgentInput = Object.freeze({ messages: Object.freeze([...hello.messages]) })
  const { end } = await runAgent(
    ['Hi.'],
    {
      middlewares: [
        { beforeChatModel: (_, state) => void state.messages.push({ id: 'n', role: 'user', content: '!' }) },
      ],
    },
    input,
  )
  expect([end?.outcome, input.messages.length]).toEqual(['complete', 1])
})
