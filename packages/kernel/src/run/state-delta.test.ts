import { beforeEach, describe, expect, test } from 'vitest'
import type { Json, State } from '../index.ts'
import { KernelError, say } from '../index.ts'
import { createRunContext, observe, runNested, startRun } from '../run.ts'
import { collect, noUnhandledRejection } from '../stream/stream.fixture.ts'
import { agentOf, brief, callOf, input, quiet } from './run.fixture.ts'

beforeEach(noUnhandledRejection)

describe('state', () => {
  const deep = Array.from({ length: 10_000 }).reduce<unknown>((inner) => [inner], 0)
  const circular: Record<string, unknown> = {}
  circular.self = circular
  const values = [undefined, Number.NaN, Infinity, 1n, Symbol('x'), () => 1, new Date(0), new Map(), circular, deep]

  test('refuses keys that reach into objects and values that are no JSON, and shows nothing of them', async () => {
    const refused: unknown[] = []
    const agent = agentOf('a', async function* (ctx) {
      const tries = [
        ...['__proto__', 'constructor', 'prototype'].map((key) => [key, 1]),
        ...values.map((v) => ['k', v]),
      ]
      for (const [key, value] of tries) {
        try {
          ctx.state.set(key as string, value as Json)
        } catch (error) {
          refused.push(KernelError.is(error) && error.code)
        }
      }
      yield* say(ctx, 'fine')
    })
    const events = await collect(startRun(agent, input))
    expect(refused).toEqual(Array.from({ length: 3 + values.length }, () => 'VALIDATION_FAILED'))
    expect(events.some(({ type }) => type === 'state-delta')).toBe(false)
    expect(createRunContext({ state: { a: 1 } }).state.get('toString')).toBeUndefined()
  })

  test('writes its changes before the next event of the agent that made them, nested or last', async () => {
    const inner = agentOf('inner', async function* (ctx) {
      expect(ctx.state.get('from')).toBe('outer')
      ctx.state.set('from', 'inner')
      yield* say(ctx, 'inner')
      ctx.state.delete('gone')
    })
    const outer = agentOf('outer', async function* (ctx) {
      ctx.state.set('from', 'outer')
      await runNested(inner, input, callOf(ctx, 0))
      expect([ctx.state.get('from'), ctx.state.get('gone')]).toEqual(['inner', undefined])
      yield* say(ctx, 'outer')
      ctx.state.set('last', true)
    })
    const events = await collect(startRun(outer, input, { state: { gone: 1 } }))
    const trace = events.map((event) =>
      event.type === 'state-delta'
        ? `${event.agentName} ${JSON.stringify([event.set, event.removed])}`
        : brief([event])[0],
    )
    const follows = (delta: string, next: string) => expect(trace[trace.indexOf(delta) + 1]).toBe(next)
    follows('outer [{"from":"outer"},[]]', 'inner run-start')
    follows('inner [{"from":"inner"},[]]', 'inner message-start')
    follows('inner [{},["gone"]]', 'inner agent-end')
    follows('outer [{"last":true},[]]', 'outer agent-end')
    expect(events.filter(({ type }) => type === 'state-delta')).toHaveLength(4)
  })

  test('of a branch goes to its overlay and never to the run', async () => {
    const overlay = new Map<string, Json>()
    const agent = agentOf('a', async function* (ctx) {
      const state: State = {
        get: (key) => overlay.get(key) ?? ctx.state.get(key),
        set: (key, value) => void overlay.set(key, value),
        delete: (key) => void overlay.delete(key),
        keys: () => overlay.keys(),
      }
      const branch = ctx.derive({ step: 'branch:0', state })
      const child = agentOf('child', async function* (own) {
        own.state.set('mine', own.state.get('base') ?? null)
        yield* say(own, 'child')
      })
      for await (const _ of observe(child, input, branch));
      yield* say(ctx, `${ctx.state.get('mine')}`)
    })
    expect(await startRun(agent, input, { state: { base: 7 } })).toMatchObject({ text: 'undefined' })
    expect([...overlay]).toEqual([['mine', 7]])
  })

  test('writes its changes before the events emitted after them', async () => {
    const agent = quiet('a', async (ctx) => {
      ctx.state.set('k', 1)
      await ctx.emit('note', ctx.state.get('k') ?? null)
    })
    const events = await collect(startRun(agent, input))
    expect(brief(events).slice(2, 4)).toEqual(['a state-delta', 'a custom'])
  })
})
