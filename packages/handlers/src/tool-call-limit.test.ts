import type { AgentConfig, Message, RunContext } from '@troupe/kernel'
import { toolMetas } from '@troupe/kernel/kit'
import { createRunContext } from '@troupe/kernel/run'
import { testHandler } from '@troupe/testkit'
import { describe, expect, it } from 'vitest'
import {
  assistant,
  callOf,
  contextOf,
  LOOK,
  result,
  settled,
  streamedThrough,
  toolOf,
  user,
  wrapped,
} from './handlers.fixture.ts'
import { type ToolCallLimitOptions, toolCallLimit } from './tool-call-limit.ts'

testHandler('toolCallLimit', () => toolCallLimit({ perRun: 1, perTool: { echo: 1 } }))

const WATCH = toolOf({ name: 'watch' })

/** An agent with a limit: `start` begins a run, and each run calls its tools. */
function limited(options: ToolCallLimitOptions) {
  const handler = toolCallLimit(options)
  const ran: string[] = []
  const call = wrapped(handler, async (_ctx, { name }) => {
    ran.push(name)
    await settled()
    return { content: 'ran' }
  })
  const start = async (messages: readonly Message[] = [user('u1')], ctx: RunContext = contextOf()) => {
    const config: AgentConfig = { instruction: '', tools: toolMetas([LOOK]), input: { messages }, runOptions: {} }
    return (await handler.beforeAgent?.(ctx, config)) ?? ctx
  }
  return { handler, call, start, ran }
}

describe('calls beyond the limit', () => {
  it('are answered with an error and not run', async () => {
    const { call, start, ran } = limited({ perRun: 2 })
    const ctx = await start()
    await call(ctx, callOf())
    await call(ctx, callOf({}, { tool: WATCH }))
    const message = 'tool look: all tools together may be called 2 times, got call 3'
    expect(await call(ctx, callOf())).toEqual({
      content: `Error: ${message}. Go on without this call.`,
      error: { code: 'TOOL_LIMIT_EXCEEDED', message },
    })
    expect(ran).toEqual(['look', 'watch'])
  })

  it('of one tool leave the others alone, and do not count', async () => {
    const { call, start, ran } = limited({ perRun: 3, perTool: { look: 1, never: 0 } })
    const ctx = await start()
    const codes: unknown[] = []
    for (const tool of [LOOK, LOOK, LOOK, toolOf({ name: 'never' }), WATCH, WATCH, WATCH]) {
      codes.push((await call(ctx, callOf({}, { tool }))).error?.code)
    }
    const refused = 'TOOL_LIMIT_EXCEEDED'
    expect(codes).toEqual([undefined, refused, refused, refused, undefined, undefined, refused])
    expect(ran).toEqual(['look', 'watch', 'watch'])
  })

  it('are refused among 1,000 calls at the same time, and not one more or less is run', async () => {
    const { call, start, ran } = limited({ perRun: 100, perTool: { look: 60 } })
    const ctx = await start()
    const all = Array.from({ length: 1000 }, (_, i) => call(ctx, callOf({}, { tool: i % 2 ? LOOK : WATCH })))
    const refused = (await Promise.all(all)).filter(({ error }) => error)
    expect(refused).toHaveLength(900)
    expect(ran).toHaveLength(100)
  })

  it('are counted for each run alone, also with 1,000 runs at the same time', async () => {
    const { call, start } = limited({ perRun: 1 })
    const runs = Array.from({ length: 1000 }, async (_, i) => {
      const ctx = await start([user('u1')], createRunContext({ runId: `r${i}` }))
      const results = await Promise.all([call(ctx, callOf()), call(ctx, callOf())])
      return results.map(({ error }) => error?.code)
    })
    for (const codes of await Promise.all(runs)) expect(codes).toEqual([undefined, 'TOOL_LIMIT_EXCEEDED'])
  })

  it('count for one handler alone, also where an agent has two', async () => {
    const one = limited({ perRun: 1 })
    const other = limited({ perRun: 2 })
    const ctx = await other.start([], await one.start())
    await one.call(ctx, callOf())
    expect((await other.call(ctx, callOf())).error).toBeUndefined()
  })

  it('are those that the model asks for last, whichever of its calls are made', async () => {
    const { handler, call, start, ran } = limited({ perRun: 3, perTool: { look: 1 } })
    const ctx = await start()
    const turn = assistant('a1', '', ['c1', 'c2', 'c3', 'c4'])
    const named = turn.toolCalls?.map((call, i) => ({ ...call, name: i < 2 ? 'look' : 'watch' })) ?? []
    await handler.afterModelRewriteHistory?.(ctx, [user('u1'), { ...turn, toolCalls: named }])
    const code = async (callId: string, tool = WATCH) => (await call(ctx, callOf({}, { callId, tool }))).error?.code
    expect(await code('c4')).toBeUndefined()
    expect(await code('c2', LOOK)).toBe('TOOL_LIMIT_EXCEEDED')
    // The calls c1 and c3 were made before the run broke off; they count all the same.
    expect(await code('later')).toBe('TOOL_LIMIT_EXCEEDED')
    expect(ran).toEqual(['watch'])
  })

  it('of tools with hostile names have limits of their own', async () => {
    const { call, start } = limited({ perTool: JSON.parse('{"__proto__":1}') })
    const ctx = await start()
    const code = async (name: string) => (await call(ctx, callOf({}, { name }))).error?.code
    expect(await code('__proto__')).toBeUndefined()
    expect(await code('__proto__')).toBe('TOOL_LIMIT_EXCEEDED')
    expect(await code('constructor')).toBeUndefined()
  })

  it('are refused before they stream', async () => {
    const { handler, start } = limited({ perRun: 1 })
    const ctx = await start()
    expect((await streamedThrough(handler, ctx, callOf(), ['a'])).shown).toEqual(['a'])
    const { shown, result } = await streamedThrough(handler, ctx, callOf(), ['a'])
    expect(shown).toEqual([])
    expect(result.error?.code).toBe('TOOL_LIMIT_EXCEEDED')
  })
})

describe('a resumed run', () => {
  const error = { code: 'TOOL_LIMIT_EXCEEDED', message: 'no' }
  const before: readonly Message[] = [
    user('u0'),
    assistant('a0', '', ['c0']),
    result('c0'),
    user('u1'),
    assistant('a1', '', ['c1', 'c2', 'c3', 'c4']),
    result('c1'),
    result('c2', 'no', { error }),
    result('c3', 'other', { agentName: 'other' }),
  ]

  it('counts what was answered since the user spoke: not the refused, the open and those of other agents', async () => {
    const { call, start, ran } = limited({ perRun: 2 })
    const ctx = await start(before)
    expect((await call(ctx, callOf())).error).toBeUndefined()
    expect((await call(ctx, callOf())).error?.code).toBe('TOOL_LIMIT_EXCEEDED')
    expect(ran).toEqual(['look'])
  })

  it('begins anew with the next user message', async () => {
    const { call, start } = limited({ perRun: 1 })
    const ctx = await start([...before, result('c4'), user('u2')])
    expect((await call(ctx, callOf())).error).toBeUndefined()
  })
})

it('lets calls pass where its run never began', async () => {
  const { call } = limited({ perRun: 0 })
  expect(await call(contextOf(), callOf())).toEqual({ content: 'ran' })
})

it.each([
  [{}, 'expected perRun or perTool, got undefined'],
  [{ perRun: -1 }, 'perRun must be a whole number from 0 on, got -1'],
  [{ perRun: Number.POSITIVE_INFINITY }, 'perRun must be a whole number from 0 on, got Infinity'],
  [{ perTool: [1] }, 'perTool must be an object of limits by tool name, got an array'],
  [{ perTool: { look: '1' } }, 'perTool.look must be a whole number from 0 on, got "1"'],
])('refuses the options %j', (options, message) => {
  expect(() => toolCallLimit(options as never)).toThrow(
    expect.objectContaining({ code: 'CONFIG_INVALID', message: `toolCallLimit: ${message}` }),
  )
})
