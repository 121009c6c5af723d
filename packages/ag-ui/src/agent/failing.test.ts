import { EventType } from '@ag-ui/core'
import { type Agent, KernelError, type RunContext, say } from '@troupe/kernel'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { BAD_INPUTS } from '../input/bad-input.fixture.ts'
import {
  ANN,
  agentOf,
  calm,
  collect,
  echo,
  endOf,
  request,
  stage,
  stuck,
  textIn,
  types,
  user,
} from './agent.fixture.ts'

const SECRET = 'password=hunter2'
const broken: Agent = agentOf(async function* (_, ctx) {
  yield* say(ctx, 'so far')
  throw new Error(SECRET)
})

describe('错误处理: every failure ends in one RUN_ERROR', () => {
  test('a failure of the run is BACKGROUND_EXECUTION_ERROR, after the messages before it', async () => {
    const { serve, reports } = stage(broken)
    const events = await serve({ messages: [user('a')] }, { requestId: 'q-7' })
    expect(textIn(events)).toBe('so far')
    expect(events.at(-1)).toMatchObject({
      type: EventType.RUN_ERROR,
      code: 'BACKGROUND_EXECUTION_ERROR',
      metadata: { requestId: 'q-7' },
    })
    expect(JSON.stringify(events)).not.toContain(SECRET)
    expect(reports[0]?.cause).toMatchObject({ message: SECRET })
  })

  const outside: [string, Parameters<typeof stage>[1]][] = [
    ['an extractor', { userIdExtractor: () => Promise.reject(new Error(SECRET)), userId: undefined as never }],
    ['the choice of a runner', { resolveRunner: () => Promise.reject(new Error(SECRET)) }],
    [
      'the settings of a run',
      {
        runConfigFactory: () => {
          throw new Error(SECRET)
        },
      },
    ],
  ]
  test.each(outside)('a failure in %s is AGENT_ERROR', async (_, options) => {
    const { serve, agent, reports } = stage(echo, options)
    const events = await serve({ messages: [user('a')] })
    expect(endOf(events)).toBe('AGENT_ERROR')
    expect(JSON.stringify(events)).not.toContain(SECRET)
    expect(reports).toHaveLength(1)
    expect(agent.activeExecutions).toBe(0)
  })

  test('a failure of the store is AGENT_ERROR at every step', async () => {
    for (const method of ['get', 'processed', 'open', 'commit', 'messages'] as const) {
      const { serve, agent, store } = stage()
      Object.assign(store.threads, { [method]: () => Promise.reject(new Error(SECRET)) })
      const events = await serve({ messages: [user('a')] })
      expect([method, endOf(events)]).toEqual([method, expect.stringMatching(/^(AGENT|BACKGROUND_EXECUTION)_ERROR$/)])
      expect(JSON.stringify(events)).not.toContain(SECRET)
      expect(agent.activeExecutions).toBe(0)
    }
  })

  test.each([undefined, null, 'x', [], { threadId: 1 }])(
    'an invalid request (%j) is VALIDATION_FAILED',
    async (input) => {
      const events = await collect(stage().agent.run(input))
      expect(types(events)).toEqual([EventType.RUN_ERROR])
      expect(endOf(events)).toBe('VALIDATION_FAILED')
    },
  )

  test('2,000 invalid requests get a correct stream each and are never reported as our errors', async () => {
    const { agent, reports, clock } = stage(echo, { toolResults: 'json' })
    let refused = 0
    let served = 0
    await fc.assert(
      fc.asyncProperty(BAD_INPUTS, async ({ value, field }) => {
        // Its answers fit no question, so that a request with them would not run.
        const { resume, ...rest } = value as { resume?: unknown }
        const events = await collect(agent.run(field === 'resume' ? { ...rest, resume } : rest))
        const last = events.at(-1)
        if (last?.type !== EventType.RUN_ERROR) {
          served++
          return
        }
        refused++
        expect([last.code, reports]).toEqual([
          expect.stringMatching(/^(VALIDATION_FAILED|INTERRUPT_UNKNOWN|TOOL_CALL_UNKNOWN)$/),
          [],
        ])
        if (last.code === 'VALIDATION_FAILED') expect(last.message).toContain(`run input, ${field}`)
      }),
      { numRuns: 2_000, seed: 3 },
    )
    expect(refused).toBeGreaterThan(500)
    expect(served).toBeGreaterThan(200)
    expect([agent.activeExecutions, clock.pending]).toEqual([0, 0])
  }, 60_000)

  test('a code that a client can act on is shown', async () => {
    const limited = agentOf(() => {
      throw new KernelError('MODEL_RATE_LIMITED', SECRET, { retryable: true })
    })
    const events = await stage(limited).serve({ messages: [user('a')] })
    expect(events.at(-1)).toMatchObject({ code: 'MODEL_RATE_LIMITED', metadata: { retryable: true } })
    expect(JSON.stringify(events)).not.toContain(SECRET)
  })

  test('the thread can be used right after a failure', async () => {
    const { serve, other } = stage(broken)
    await serve({ messages: [user('a')] })
    expect(endOf(await collect(other().run(request({ messages: [user('b')] }))))).toBe('BACKGROUND_EXECUTION_ERROR')
  })
})

describe('执行超时: a run that takes too long', () => {
  test('is stopped with EXECUTION_TIMEOUT after 600 seconds', async () => {
    const { serve, clock, agent, store } = stage(stuck)
    const served = serve({ messages: [user('a')] })
    await calm()
    clock.advance(599_999)
    await calm()
    expect(agent.activeExecutions).toBe(1)
    clock.advance(1)
    await calm()
    clock.advance(2_000)
    expect(endOf(await served)).toBe('EXECUTION_TIMEOUT')
    expect(agent.activeExecutions).toBe(0)
    expect((await store.threads.get(ANN))?.runId).toBeUndefined()
    expect(clock.pending).toBe(0)
  })

  test('is stopped while it is set up and the store does not answer', async () => {
    const { agent, clock, store } = stage(echo, { executionTimeoutMs: 1_000 })
    store.threads.get = () => new Promise(() => {})
    const served = collect(agent.run(request({ messages: [user('a')] })))
    await calm()
    clock.advance(1_000)
    expect(endOf(await served)).toBe('EXECUTION_TIMEOUT')
  })

  test('is aborted by its Runner', async () => {
    let reason: unknown
    const watching = agentOf(async function* (_, ctx) {
      yield* say(ctx, 'wait')
      await new Promise<void>((resolve) => ctx.signal.addEventListener('abort', () => resolve()))
      reason = ctx.signal.reason
    })
    const { serve, clock } = stage(watching, { executionTimeoutMs: 50 })
    const served = serve({ messages: [user('a')] })
    await calm()
    clock.advance(50)
    await calm()
    clock.advance(2_000)
    await served
    expect(reason).toMatchObject({ code: 'TIMEOUT' })
  })
})

describe('工具调用超时: a tool that takes too long', () => {
  const inside = ({ runId }: RunContext) => ({ runId: `${runId}/tool:0:0`, parentRunId: runId, parentCallId: 'c1' })
  const tool = (name: string, { nested = false, own = false } = {}) =>
    agentOf(async function* ({ additions }, ctx) {
      const call = { id: 'c1', name, arguments: '{}' }
      const added = additions?.tools?.find((meta) => meta.tool.name === name)?.tool
      const message = { id: 'm1', role: 'assistant', content: '', toolCalls: [call] } as const
      yield { type: 'message-end', message }
      yield { type: 'tool-start', callId: 'c1', name, arguments: '{}' }
      if (added && !own)
        await added.invoke?.({}, ctx, {
          callId: 'c1',
          name,
          arguments: '{}',
          step: 'tool:0:0',
          idempotencyKey: 'k',
          tool: added,
        })
      for (let i = 0; i < 5; i++) {
        await new Promise<void>((resolve) => {
          ctx.signal.addEventListener('abort', () => resolve())
          ctx.clock.after(200_000, resolve)
        })
        ctx.throwIfAborted()
        if (nested) yield { type: 'custom', name: 'alive', data: i, ...inside(ctx) }
      }
      yield { type: 'tool-end', callId: 'c1', messageId: 'm2', name, status: 'complete', content: 'done' }
    })
  const passing = async (agent: Agent, tools: string[] = []) => {
    const { serve, clock } = stage(agent, { executionTimeoutMs: 2_000_000 })
    const served = serve({
      messages: [user('a')],
      tools: tools.map((name) => ({ name, description: '', parameters: {} })),
    })
    for (let i = 0; i < 60; i++) {
      await calm()
      clock.advance(20_000)
    }
    return endOf(await served)
  }

  test('stops its run with TOOL_TIMEOUT after 300 seconds', async () => {
    expect(await passing(tool('slow'))).toBe('TOOL_TIMEOUT')
  })

  test('a tool in which agents work has no limit', async () => {
    expect(await passing(tool('ask_agent', { nested: true }))).toBe('success')
  })

  test('a tool of the client, which does not run here, has no limit', async () => {
    expect(await passing(tool('pick'), ['pick'])).toBe('success')
  })

  test('a tool of the server keeps its limit if a client lists a tool of that name', async () => {
    expect(await passing(tool('pick', { own: true }), ['pick'])).toBe('TOOL_TIMEOUT')
  })
})

describe('并发限制: concurrent runs', () => {
  const inThread = (threadId: string) => request({ threadId, messages: [user('a')] })

  test('are a hundred by default, and one more is EXECUTION_LIMIT', async () => {
    const { agent, serve, clock } = stage(stuck)
    const running = Array.from({ length: 100 }, (_, i) => collect(agent.run(inThread(`t${i}`))))
    await calm()
    expect(agent.activeExecutions).toBe(100)
    const events = await collect(agent.run(inThread('one more')))
    expect(events).toMatchObject([
      { type: EventType.RUN_ERROR, code: 'EXECUTION_LIMIT', metadata: { retryable: true } },
    ])
    for (let i = 0; i < 100; i++) expect(await agent.cancel({ ...ANN, threadId: `t${i}` })).toBe(true)
    await calm()
    clock.advance(2_000)
    expect((await Promise.all(running)).map(endOf)).toEqual(Array.from({ length: 100 }, () => 'cancelled'))
    expect(agent.activeExecutions).toBe(0)
    expect(clock.pending).toBe(0)
    const next = serve({ threadId: 'next', messages: [user('a')] })
    await calm()
    expect(agent.activeExecutions).toBe(1)
    await agent.cancel({ ...ANN, threadId: 'next' })
    await calm()
    clock.advance(2_000)
    await next
  })

  test('do not count a run whose reader has left', async () => {
    const { agent, clock, store } = stage(stuck, { maxConcurrentExecutions: 1 })
    for (let i = 0; i < 3; i++) {
      const leaving = (async () => {
        for await (const { type } of agent.run(inThread(`t${i}`))) {
          if (type === EventType.TEXT_MESSAGE_CONTENT) break
        }
      })()
      await calm()
      clock.advance(2_000)
      await leaving
      expect(agent.activeExecutions).toBe(0)
      expect((await store.threads.get({ ...ANN, threadId: `t${i}` }))?.runId).toBeUndefined()
    }
  })

  test('do not count a run that has exceeded its time, although its reader does nothing', async () => {
    const { agent, clock } = stage(echo, { maxConcurrentExecutions: 1, executionTimeoutMs: 1_000 })
    const idle = agent.run(inThread('idle'))[Symbol.asyncIterator]()
    await idle.next()
    expect(endOf(await collect(agent.run(inThread('b'))))).toBe('EXECUTION_LIMIT')
    clock.advance(1_000)
    expect(endOf(await collect(agent.run(inThread('b'))))).toBe('success')
    await idle.return?.()
    expect(agent.activeExecutions).toBe(0)
  })
})

describe('a cancel', () => {
  test('ends the run as cancelled, and the thread can be used', async () => {
    const { agent, serve, clock, other } = stage(stuck)
    const served = serve({ runId: 'r1', messages: [user('a')] })
    await calm()
    expect(await agent.cancel(ANN, 'another')).toBe(false)
    expect(await agent.cancel({ ...ANN, user: 'eve' }, 'r1')).toBe(false)
    expect(await agent.cancel(ANN, 'r1')).toBe(true)
    await calm()
    clock.advance(2_000)
    expect(endOf(await served)).toBe('cancelled')
    expect(await agent.cancel(ANN)).toBe(false)
    expect(endOf(await collect(other().run(request({ messages: [] }))))).toBe('success')
  })

  test('by the signal does the same, before the run and during it', async () => {
    const { serve, clock } = stage(stuck)
    const before = await serve({ messages: [user('a')] }, { signal: AbortSignal.abort() })
    expect([types(before)[0], endOf(before)]).toEqual([EventType.RUN_STARTED, 'cancelled'])
    const controller = new AbortController()
    const served = serve({ messages: [user('a')] }, { signal: controller.signal })
    await calm()
    controller.abort()
    await calm()
    clock.advance(2_000)
    expect(endOf(await served)).toBe('cancelled')
  })
})
