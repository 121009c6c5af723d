import {
  type AgentHandler,
  type Json,
  type Part,
  type ToolCallResult,
  withInvokableToolWrapper,
  withStreamableToolWrapper,
} from '@troupe/kernel'
import { beforeEach, describe, expect, test } from 'vitest'
import { calling, noUnhandledRejection, runAgent, streaming, tool } from '../chat-model.fixture.ts'

beforeEach(noUnhandledRejection)

/** Counts the reads of properties in a value, however deep. */
function counted<T extends object>(value: T): { readonly value: T; reads(): number } {
  let reads = 0
  const watch = <V>(inner: V): V =>
    typeof inner !== 'object' || inner === null
      ? inner
      : new Proxy(inner, {
          get: (target, key) => {
            reads++
            return watch(Reflect.get(target, key))
          },
        })
  return { value: watch(value), reads: () => reads }
}

const rows = (): Json => ({ rows: Array.from({ length: 50 }, (_, id) => ({ id, tags: ['a', 'b'] })) })
const parts = (): Part[] => Array.from({ length: 50 }, (_, i) => ({ type: 'text', text: `${i}` }))

type Change = (result: ToolCallResult) => ToolCallResult

const ways: Record<string, (change: Change) => AgentHandler> = {
  invokable: (change) => withInvokableToolWrapper(async (ctx, input, next) => change(await next(ctx, input))),
  streamable: (change) =>
    withStreamableToolWrapper(async (ctx, input, next) => {
      const { stream, result } = await next(ctx, input)
      return { stream, result: result.then(change) }
    }),
}
const tools: Record<string, (result: ToolCallResult) => ReturnType<typeof tool>> = {
  'an invokable tool': (result) => tool('t', () => result),
  'a streaming tool': (result) =>
    streaming('t', [], {
      // biome-ignore lint/correctness/useYield: its result is what it returns
      async *stream() {
        return result
      },
    }),
}
const unchanged: Record<string, Change> = {
  'the result as it is': (result) => result,
  'a new object around the same parts': (result) => ({ ...result }),
  'a new object with a short part more': (result) => ({ ...result, display: 'Rows.' }),
}
const cases = Object.keys(ways).flatMap((way) =>
  Object.keys(tools).flatMap((kind) => Object.keys(unchanged).map((passes) => [way, kind, passes] as const)),
)

describe('a result is walked once, however many wraps it passes', () => {
  const readsOf = async (kind: string, handlers: readonly AgentHandler[]) => {
    const data = counted({ data: rows() })
    const content = counted(parts())
    const result = { content: content.value, data: data.value.data }
    const { toolEnds } = await runAgent([calling('t'), 'Done.'], { tools: [tools[kind]?.(result) as never], handlers })
    expect(toolEnds).toMatchObject([{ status: 'complete' }])
    return [data.reads(), content.reads()]
  }

  test.each(cases)('%s wraps around %s that pass %s', async (way, kind, passes) => {
    const wrap = () => ways[way]?.(unchanged[passes] as Change) as AgentHandler
    const bare = await readsOf(kind, [])
    expect(Math.min(...bare)).toBeGreaterThan(100)
    expect(await readsOf(kind, Array.from({ length: 10 }, wrap))).toEqual(bare)
  })

  test('the answer of a wrap is walked by its own check and by no other', async () => {
    const readsWith = async (outer: number) => {
      const { value, reads } = counted({ data: rows() })
      const own: AgentHandler = withInvokableToolWrapper(async () => ({ content: 'own', data: value.data }))
      const idle = Array.from({ length: outer }, () => ways.invokable?.((result) => result) as AgentHandler)
      await runAgent([calling('t'), 'Done.'], { tools: [tool('t')], handlers: [...idle, own] })
      return reads()
    }
    expect(await readsWith(10)).toBe(await readsWith(0))
  })
})

describe('a part that a wrap has changed is checked', () => {
  const broken: Record<string, readonly [Change, RegExp]> = {
    'new data': [(result) => ({ ...result, data: { rows: [1n] } as never }), /not at \.data\.rows\[0\]/],
    'data set on the result itself': [(result) => Object.assign(result, { data: new Map() }), /not at \.data/],
    'new content': [
      (result) => ({ ...result, content: [{ type: 'text', text: 1n }] as never }),
      /not at \.content\[0\]/,
    ],
    'content that is a checked list, but not of parts': [
      ({ data }) => ({ content: (data as { rows: never }).rows }),
      /expected \{ content \}/,
    ],
    'a forbidden key': [
      (result) => Object.assign(JSON.parse('{"__proto__":1}'), result) as ToolCallResult,
      /not at \.__proto__/,
    ],
    'an instance of a class': [(result) => Object.assign(new Map(), result) as never, /not at its root/],
    'a list': [() => [] as never, /expected \{ content \}/],
    text: [() => 'text' as never, /expected \{ content \}/],
  }
  const one: readonly (readonly [string, string])[] = Object.keys(ways).flatMap((way) =>
    Object.keys(broken).map((name) => [way, name] as const),
  )
  test.each(one)('by the wrap (%s): %s', async (way, name) => {
    const [change, message] = broken[name] as (typeof broken)[string]
    const idle = ways[way]?.((result) => result) as AgentHandler
    const breaking = { ...(ways[way]?.(change) as AgentHandler), name: 'breaking' }
    const finished = await runAgent([calling('t'), 'Done.'], {
      tools: [tool('t', () => ({ content: 'x', data: rows() }))],
      handlers: [idle, breaking, idle],
    })
    expect(finished.errors).toMatchObject([{ code: 'HANDLER_FAILED', details: { handler: 'breaking' } }])
    expect(finished.errors[0]?.message).toMatch(message)
  })
})
