import { getEventListeners } from 'node:events'
import { type InvokeTool, KernelError, type ToolCallResult } from '@troupe/kernel'
import { describe, expect, it } from 'vitest'
import { callOf, contextOf, settled, wrapped } from '../handlers.fixture.ts'
import { toolCache } from './tool-cache.ts'

type Running = PromiseWithResolvers<ToolCallResult>

/** A cache around a tool whose calls are settled by hand, in the order in which they began. */
function manual() {
  const running: Running[] = []
  const call = wrapped(toolCache(), () => {
    const next = Promise.withResolvers<ToolCallResult>()
    running.push(next)
    return next.promise
  })
  const at = (index: number): Running => {
    const found = running[index]
    if (!found) throw new Error(`only ${running.length} calls have begun`)
    return found
  }
  return { call, running, at }
}

const many = (call: InvokeTool, count: number) => Array.from({ length: count }, () => call(contextOf(), callOf()))
const aborted = () => new KernelError('ABORTED', 'test: stop')

describe('equal calls at the same time', () => {
  it('are one call, 1,000 of them', async () => {
    const { call, running, at } = manual()
    const all = many(call, 1000)
    await settled()
    expect(running).toHaveLength(1)
    const result = { content: 'one' }
    at(0).resolve(result)
    for (const got of await Promise.all(all)) expect(got).toBe(result)
    expect(await call(contextOf(), callOf())).toBe(result)
  })

  it('share a result without the attempts of the call that made it, then and later', async () => {
    const { call, at } = manual()
    const all = many(call, 2)
    await settled()
    at(0).resolve({ content: 'one', attempts: 3 })
    expect(await Promise.all(all)).toEqual([{ content: 'one', attempts: 3 }, { content: 'one' }])
    expect(await call(contextOf(), callOf())).toEqual({ content: 'one' })
  })

  it('are one call for each key, 1,000 of ten kinds', async () => {
    let runs = 0
    const call = wrapped(toolCache(), async (_ctx, input) => {
      runs++
      await settled()
      return { content: input.arguments }
    })
    const all = Array.from({ length: 1000 }, (_, i) => call(contextOf(), callOf({ kind: i % 10 })))
    const results = await Promise.all(all)
    for (const [i, { content }] of results.entries()) expect(content).toBe(JSON.stringify({ kind: i % 10 }))
    expect(runs).toBe(10)
  })

  it('go on without the one that runs when that is aborted: one of them runs for the others', async () => {
    const { call, running, at } = manual()
    const [leader, ...others] = many(call, 1000)
    const outcome = Promise.allSettled(others)
    at(0).reject(aborted())
    await expect(leader).rejects.toMatchObject({ code: 'ABORTED' })
    await settled()
    expect(running).toHaveLength(2)
    at(1).reject(aborted())
    await settled()
    expect(running).toHaveLength(3)
    at(2).resolve({ content: 'third' })
    const outcomes = await outcome
    expect(outcomes.filter(({ status }) => status === 'rejected')).toHaveLength(1)
    expect(outcomes.filter((one) => one.status === 'fulfilled' && one.value.content === 'third')).toHaveLength(998)
  })

  it.each([
    ['asks a person', (first: Running) => first.reject(new KernelError('INTERRUPTED', 'test: asks'))],
    ['is stopped by a handler', (first: Running) => first.reject(new KernelError('HANDLER_FAILED', 'test: broken'))],
    [
      'fails, perhaps at a limit of its own run',
      (first: Running) => first.resolve({ content: 'no', error: { code: 'TOOL_REFUSED', message: 'no' } }),
    ],
  ])('run their own, all at once, when the one that runs %s', async (_, end) => {
    const { call, running, at } = manual()
    const [leader, ...others] = many(call, 4)
    end(at(0))
    await Promise.allSettled([leader])
    await settled()
    expect(running).toHaveLength(4)
    for (const [i, { resolve }] of running.slice(1).entries()) resolve({ content: `own ${i}` })
    expect((await Promise.all(others)).map(({ content }) => content)).toEqual(['own 0', 'own 1', 'own 2'])
  })

  it('leave when their own run is aborted, at once, and leave no listener behind', async () => {
    const { call, at } = manual()
    const leader = call(contextOf(), callOf())
    const controller = new AbortController()
    const ctx = contextOf('ann', { signal: controller.signal })
    const joined = call(ctx, callOf())
    const stays = call(contextOf(), callOf())
    await settled()
    expect(getEventListeners(controller.signal, 'abort')).toHaveLength(1)
    controller.abort()
    await expect(joined).rejects.toMatchObject({ code: 'ABORTED' })
    await expect(call(ctx, callOf())).rejects.toMatchObject({ code: 'ABORTED' })
    at(0).resolve({ content: 'one' })
    expect(await Promise.all([leader, stays])).toEqual([{ content: 'one' }, { content: 'one' }])
    expect(getEventListeners(controller.signal, 'abort')).toHaveLength(0)
  })

  it('leave no listener behind when they got their result', async () => {
    const { call, at } = manual()
    const { signal } = new AbortController()
    const all = [call(contextOf(), callOf()), call(contextOf('ann', { signal }), callOf())]
    await settled()
    at(0).resolve({ content: 'one' })
    await Promise.all(all)
    await settled()
    expect(getEventListeners(signal, 'abort')).toHaveLength(0)
  })

  it('do not join one that has ended', async () => {
    const { call, running, at } = manual()
    const failed = call(contextOf(), callOf())
    at(0).resolve({ content: 'no', error: { code: 'TOOL_FAILED', message: 'no' } })
    await failed
    call(contextOf(), callOf())
    await settled()
    expect(running).toHaveLength(2)
  })
})
