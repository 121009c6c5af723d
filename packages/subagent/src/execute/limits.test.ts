import { getEventListeners } from 'node:events'
import { createRunContext } from '@troupe/kernel/run'
import { scriptedModel } from '@troupe/testkit'
import { describe, expect, test } from 'vitest'
import { AgentExecutor, pauseLimits } from '../index.ts'
import { agent, calling, completing, type LeadOptions, leadHarness } from '../lead.fixture.ts'
import { miniAgent, tool } from '../subagent.fixture.ts'

type Script = Parameters<typeof scriptedModel>[0]
type Limits = NonNullable<Parameters<typeof agent>[1]>['limits']
const look = calling({ name: 'look' })

const setting = (limits: Limits, script: Script, more: Partial<LeadOptions> = {}) =>
  leadHarness({
    agents: [agent('a', { tools: ['look', 'wait'], ...(limits && { limits }) })],
    tools: [tool('look'), tool('wait')],
    scripts: { lead: [calling('a'), 'Done.'], a: script },
    ...more,
  })
const idle = () => new Promise((resolve) => setImmediate(resolve))

describe('a limit that was hit is reported as such (ruling 17)', () => {
  test('turns: the turn after the last one is the grace turn', async () => {
    const s = setting({ maxTurns: 2 }, [look, look, completing('Half.')])
    const { statuses, results } = await s.run()
    expect(statuses).toMatchObject([{ reason: 'max-turns', recovered: true, turns: 3, toolCalls: 2, output: 'Half.' }])
    expect(statuses[0]).not.toHaveProperty('error')
    expect(results).toMatchObject([
      { status: 'complete', content: 'Half.\n\n(The agent stopped at its limit of turns; this is what it had.)' },
    ])
    expect(s.models.a?.requests[2]?.messages.at(-1)?.content).toMatch(/^You have used all your turns\./)
  })

  test('turns: completing in the last one is the goal', async () => {
    expect((await setting({ maxTurns: 2 }, [look, completing()]).run()).statuses).toMatchObject([
      { reason: 'goal', recovered: false, turns: 2 },
    ])
  })

  test('turns: without a result in the grace turn it is an error, never success', async () => {
    const { statuses, results } = await setting({ maxTurns: 1 }, [{ text: 'So far so good.', ...look }, look]).run()
    expect(statuses).toMatchObject([
      {
        reason: 'max-turns',
        recovered: false,
        turns: 2,
        error: { code: 'MAX_ITERATIONS' },
        lastWords: 'So far so good.',
      },
    ])
    expect(statuses[0]).not.toHaveProperty('output')
    expect(results).toMatchObject([{ status: 'failed' }])
  })

  test('tokens: checked before each turn', async () => {
    const usage = { inputTokens: 90, outputTokens: 10 }
    const s = setting({ maxTokens: 150 }, [
      { ...look, usage },
      { ...look, usage },
      { ...completing(), usage },
    ])
    expect((await s.run()).statuses).toMatchObject([
      { reason: 'max-tokens', recovered: true, turns: 3, usage: { inputTokens: 270, outputTokens: 30 } },
    ])
  })

  test('tokens: an unrecovered limit names the tokens used', async () => {
    const s = setting({ maxTokens: 1 }, [look, 'Sorry.'])
    expect((await s.run()).statuses).toMatchObject([
      {
        reason: 'max-tokens',
        recovered: false,
        error: { code: 'SUBAGENT_LIMIT', message: 'agent a: used 2 of 1 tokens' },
      },
    ])
  })

  test('tool calls: the one too many is answered with an error and not run, then comes the grace turn', async () => {
    let looks = 0
    const s = setting(
      { maxToolCalls: 2 },
      [look, calling({ name: 'look' }, { name: 'look', id: 'third' }), completing()],
      {
        tools: [tool('look', { invoke: () => `${++looks}` })],
      },
    )
    const { statuses, events } = await s.run()
    expect([statuses, looks]).toMatchObject([
      [{ reason: 'max-tool-calls', recovered: true, toolCalls: 2, turns: 3 }],
      2,
    ])
    expect(events.find((event) => event.type === 'tool-end' && event.callId === 'third')).toMatchObject({
      error: { code: 'SUBAGENT_LIMIT' },
    })
  })

  test('tool calls: as many as allowed, and handing in, is the goal', async () => {
    expect((await setting({ maxToolCalls: 2 }, [look, look, completing()]).run()).statuses).toMatchObject([
      { reason: 'goal', toolCalls: 2 },
    ])
  })

  test('tool calls: one id for several calls does not get around it', async () => {
    let looks = 0
    const again = calling({ id: 'same', name: 'look' })
    const s = setting({ maxToolCalls: 2 }, [again, again, again, completing()], {
      tools: [tool('look', { invoke: () => `${++looks}` })],
    })
    expect([(await s.run()).statuses, looks]).toMatchObject([[{ reason: 'max-tool-calls' }], 2])
  })

  test('limits of the environment hold where the definition says nothing', async () => {
    expect((await setting(undefined, [look, completing()], { limits: { maxTurns: 1 } }).run()).statuses).toMatchObject([
      { reason: 'max-turns' },
    ])
    expect(
      (await setting({ maxTurns: 5 }, [look, completing()], { limits: { maxTurns: 1 } }).run()).statuses,
    ).toMatchObject([{ reason: 'goal' }])
  })

  test('Infinity means unlimited', async () => {
    const limits = {
      maxTurns: Infinity,
      timeoutMs: Infinity,
      maxTokens: Infinity,
      maxToolCalls: Infinity,
      maxDepth: Infinity,
    }
    const s = setting(limits, [...Array(30).fill(look), completing()])
    expect((await s.run()).statuses).toMatchObject([{ reason: 'goal', turns: 31 }])
    expect(s.clock.pending).toBe(0)
  })
})

describe('time', () => {
  const hanging = (limits: Limits, script: Script) => setting(limits, script)

  test('a silent model is stopped, the grace turn follows, and no timer stays', async () => {
    const s = hanging({ timeoutMs: 1_000 }, [look, { text: ['Let me', ' see'], hang: 'mid' }, completing('Half.')])
    const running = s.run()
    await idle()
    s.clock.advance(999)
    await idle()
    s.clock.advance(1)
    const { statuses, end } = await running
    expect(statuses).toMatchObject([{ reason: 'timeout', recovered: true, durationMs: 1_000, output: 'Half.' }])
    expect([end?.outcome, s.clock.pending]).toEqual(['complete', 0])
    expect(s.models.a?.requests[2]?.messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'user'])
  })

  test('a tool that was under way leaves no call without a result in the history of the grace turn', async () => {
    const s = setting({ timeoutMs: 50 }, [calling({ name: 'wait' }), completing()], {
      tools: [
        tool('wait', {
          invoke: (_, ctx) =>
            new Promise((_, reject) => ctx.signal.addEventListener('abort', () => reject(ctx.signal.reason))),
        }),
      ],
    })
    const running = s.run()
    await idle()
    s.clock.advance(50)
    expect((await running).statuses).toMatchObject([{ reason: 'timeout', recovered: true }])
    expect(s.models.a?.requests[1]?.messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'user'])
  })

  test('the grace turn has its own limit', async () => {
    const s = hanging({ timeoutMs: 100, graceMs: 20 }, [{ hang: 'before' }, { hang: 'before' }])
    const running = s.run()
    await idle()
    s.clock.advance(100)
    await idle()
    s.clock.advance(20)
    const { statuses } = await running
    expect(statuses).toMatchObject([
      { reason: 'timeout', recovered: false, durationMs: 120, error: { code: 'TIMEOUT', retryable: true } },
    ])
    expect(s.clock.pending).toBe(0)
  })

  test('leaves no listener on the signal of the run', async () => {
    const { signal } = new AbortController()
    const s = setting({ maxTurns: 1 }, [look, completing()])
    await s.run({ signal })
    expect(getEventListeners(signal, 'abort')).toHaveLength(0)
  })

  test('is paused while a person is asked (pauseLimits), for the agents above too', async () => {
    const { promise: answer, resolve } = Promise.withResolvers<void>()
    const asking = tool('ask', {
      async invoke(_, ctx) {
        const resume = pauseLimits(ctx)
        await answer
        resume()
        resume()
        return 'yes'
      },
    })
    const s = leadHarness({
      agents: [
        agent('a', { tools: ['b', 'ask'], limits: { timeoutMs: 100 } }),
        agent('b', { tools: ['ask'], limits: { timeoutMs: 60 } }),
      ],
      tools: [asking],
      scripts: {
        lead: [calling('a'), 'Done.'],
        a: [calling('b'), completing()],
        b: [calling({ name: 'ask' }), completing()],
      },
    })
    const running = s.run()
    await idle()
    s.clock.advance(10_000)
    resolve()
    const { statuses } = await running
    expect(statuses).toMatchObject([{ reason: 'goal', durationMs: 0 }])
    expect(s.clock.pending).toBe(0)
  })

  test('pauseLimits does nothing outside a sub-agent', () => {
    expect(pauseLimits(createRunContext())()).toBeUndefined()
  })
})

test('a factory that ignores handlers is still bounded by maxIterations', async () => {
  const model = scriptedModel([look, look, completing()])
  const env = {
    factory: (spec: Parameters<typeof miniAgent>[0]) => miniAgent({ ...spec, handlers: [] }),
    model,
    tools: [tool('look')],
  }
  const executor = new AgentExecutor(agent('a', { tools: ['look'], limits: { maxTurns: 2 } }), env)
  const ctx = createRunContext().derive({ call: { callId: 'c', onAction() {}, onInterrupt() {} } })
  expect(await executor.run({ task: 't' }, ctx)).toMatchObject({ reason: 'max-turns', recovered: true, turns: 3 })
})
