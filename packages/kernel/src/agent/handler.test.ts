import { describe, expect, it } from 'vitest'
import { createRunContext } from '../run/start-run.ts'
import { type AgentHandler, BaseAgentHandler, type HookName, hookOf } from './handler.ts'

const hooks: readonly HookName[] = [
  'beforeAgent',
  'beforeModelRewriteHistory',
  'afterModelRewriteHistory',
  'wrapInvokableToolCall',
  'wrapStreamableToolCall',
  'wrapModelCall',
  'afterAgent',
]

class Counting extends BaseAgentHandler {
  count = 0
  override afterAgent(): void {
    this.count++
  }
}

describe('3.1 AgentHandler, hook by hook: hookOf', () => {
  it('counts a hook inherited unchanged from BaseAgentHandler as absent', () => {
    const handler = new Counting('counting')
    expect(hooks.filter((hook) => hookOf(handler, hook))).toEqual(['afterAgent'])
  })

  it('does so for the BaseAgentHandler of another copy of the kernel', async () => {
    const copy: typeof import('./handler.ts') = await import(`./handler.ts?${'copy'}`)
    class Foreign extends copy.BaseAgentHandler {}
    expect(hooks.filter((hook) => hookOf(new Foreign('foreign'), hook))).toEqual([])
  })

  it('binds a hook to its handler', async () => {
    const handler = new Counting('counting')
    await hookOf(handler, 'afterAgent')?.(createRunContext(), {
      outcome: 'complete',
      text: '',
      messages: [],
      usage: { inputTokens: 0, outputTokens: 0 },
    })
    expect(handler.count).toBe(1)
  })

  it('finds the hooks of a plain object, and none of an empty one', () => {
    expect(hookOf({ name: 'x', beforeAgent: () => undefined }, 'beforeAgent')).toBeTypeOf('function')
    expect(hookOf({ name: 'x' }, 'beforeAgent')).toBeUndefined()
  })

  it.each<[string, unknown, RegExp]>([
    ['no object', undefined, /handler: expected an object with a name, got undefined/],
    ['no name', {}, /handler: expected an object with a name/],
    [
      'a hook that is not a function',
      { name: 'x', beforeAgent: 'soon' },
      /handler x: beforeAgent must be a function, got "soon"/,
    ],
  ])('refuses a handler with %s', (_, handler, message) => {
    expect(() => hookOf(handler as AgentHandler, 'beforeAgent')).toThrow(message)
  })
})

describe('3.3 BaseAgentHandler', () => {
  it('needs a name', () => {
    expect(() => new Counting('')).toThrow(expect.objectContaining({ code: 'CONFIG_INVALID' }))
  })

  it('passes everything through where nothing is overridden', async () => {
    const handler = new Counting('counting')
    const ctx = createRunContext()
    const input = { name: 'a', arguments: '{}', callId: 'c', step: 's', idempotencyKey: 'k' }
    expect(handler.beforeAgent(ctx, {} as never)).toBeUndefined()
    expect(handler.beforeModelRewriteHistory(ctx, [])).toBeUndefined()
    expect(handler.afterModelRewriteHistory(ctx, [])).toBeUndefined()
    expect(await handler.wrapInvokableToolCall(ctx, input, async () => ({ content: 'ok' }))).toEqual({ content: 'ok' })
    const streamed = { stream: (async function* () {})(), result: Promise.resolve({ content: 'ok' }) }
    expect(await handler.wrapStreamableToolCall(ctx, input, async () => streamed)).toBe(streamed)
    const parts = (async function* () {})()
    expect(handler.wrapModelCall(ctx, {} as never, () => parts)).toBe(parts)
  })
})
