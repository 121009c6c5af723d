import type { KernelError } from '@troupe/kernel'
import { beforeEach, describe, expect, test } from 'vitest'
import type { BusHandle } from './bus.ts'
import { createBus } from './create-bus.ts'
import { idle, noUnhandledRejection } from './policy.fixture.ts'

beforeEach(noUnhandledRejection)

type Own = { progress: { done: number }; note: string }

describe('message bus (消息总线集成): a bus', () => {
  test('carries typed messages of the app, with their sender', () => {
    const bus = createBus<Own>()
    const heard: unknown[] = []
    bus.on('progress', ({ type, from, data: { done } }) => void heard.push([type, from, done]))
    bus.on('note', ({ data }) => void heard.push(data.toUpperCase()))
    bus.as('a').as('b').send('progress', { done: 1 })
    bus.send('note', 'hi')
    expect(heard).toEqual([['progress', 'a/b', 1], 'HI'])
    // @ts-expect-error another type of data
    bus.send('progress', 'x')
    // @ts-expect-error no such message
    bus.send('other', 1)
  })

  test('counts its listeners, and forgets those that stop', () => {
    const bus = createBus<Own>()
    const stops = [bus.on('note', () => {}), bus.on('audit', () => {}), bus.on('approval', () => undefined)]
    const twice = () => {}
    stops.push(bus.on('note', twice), bus.on('note', twice))
    expect([bus.listeners(), bus.listeners('note'), bus.listeners('nothing')]).toEqual([5, 3, 0])
    for (const stop of stops) {
      stop()
      stop()
    }
    expect(bus.listeners()).toBe(0)
    bus.on('note', () => {})
    for (const stop of stops) stop()
    expect(bus.listeners()).toBe(1)
  })

  test('a listener that stops, or adds another, while it is called does not disturb the others', () => {
    const bus = createBus<Own>()
    const heard: string[] = []
    const stop = bus.on('note', () => {
      heard.push('once')
      stop()
      bus.on('note', () => void heard.push('late'))
    })
    bus.on('note', () => void heard.push('always'))
    bus.send('note', '1')
    bus.send('note', '2')
    expect(heard).toEqual(['once', 'always', 'always', 'late'])
  })

  test('a listener that throws or rejects is reported once, and one that hangs does not delay the others', async () => {
    const reports: KernelError[] = []
    const bus = createBus<Own>({ report: (error) => void reports.push(error) })
    const heard: string[] = []
    bus.on('note', () => {
      throw new Error('boom')
    })
    bus.on('note', () => Promise.reject(new Error('later')))
    bus.on('note', () => new Promise(() => {}))
    bus.on('note', ({ data }) => void heard.push(data))
    bus.send('note', '1')
    bus.send('note', '2')
    await idle()
    expect(heard).toEqual(['1', '2'])
    expect(reports.map(({ code, message }) => [code, message])).toEqual([
      ['LISTENER_FAILED', 'bus: a listener of note failed, boom'],
      ['LISTENER_FAILED', 'bus: a listener of note failed, later'],
    ])
  })

  test('is put together rightly or not at all', () => {
    const bus = createBus()
    for (const wrong of [
      () => createBus({ report: 'console' as never }),
      () => bus.on('', () => {}),
      () => bus.on('x', undefined as never),
      () => bus.as(''),
      () => bus.as(1 as never),
    ]) {
      expect(wrong).toThrow(expect.objectContaining({ code: 'CONFIG_INVALID' }))
    }
    expect(bus.listeners()).toBe(0)
  })
})

describe("a child's end of the bus", () => {
  test('carries its identity; a slash in a name gives no access to other agents', () => {
    const bus = createBus()
    expect(
      [bus, bus.as('a'), bus.as('a').as('b'), bus.as('a/b'), bus.as('..')].map(({ identity }) => identity),
    ).toEqual(['', 'a', 'a/b', 'a%2Fb', '..'])
  })

  test('cannot forge it', () => {
    const bus = createBus<Own>()
    const heard: string[] = []
    bus.on('note', ({ from }) => void heard.push(from))
    const child = bus.as('a') as { -readonly [K in keyof BusHandle<Own>]: BusHandle<Own>[K] }
    expect(() => {
      child.identity = 'admin'
    }).toThrow(TypeError)
    expect(() => (child.path as string[]).push('x')).toThrow(TypeError)
    child.send.call({ identity: 'admin', path: ['admin'] }, 'note', 'x')
    child.as.call({ identity: '', path: [] }, 'b').send('note', 'x')
    Object.create(child, { identity: { value: 'admin' } }).send('note', 'x')
    expect(heard).toEqual(['a', 'a/b', 'a'])
  })

  test('has no way to its parent, and neither listens nor answers', () => {
    const child = createBus().as('a')
    expect(Object.keys(child).toSorted()).toEqual(['as', 'identity', 'path', 'send'])
    expect(Object.getPrototypeOf(child)).toBe(Object.prototype)
  })

  test('cannot send the types reserved for policies', () => {
    const bus = createBus()
    bus.on('audit', () => expect.unreachable())
    bus.on('approval', () => expect.unreachable())
    for (const type of ['audit', 'approval']) {
      for (const end of [bus, bus.as('a')]) {
        expect(() => end.send(type, {})).toThrow(expect.objectContaining({ code: 'CONFIG_INVALID' }))
      }
    }
  })

  test('a message cannot be changed by one listener for the next', () => {
    const bus = createBus<Own>({ report: () => {} })
    const heard: string[] = []
    bus.on('note', (message) => void Object.assign(message, { from: 'admin' }))
    bus.on('note', ({ from }) => void heard.push(from))
    bus.as('a').send('note', 'x')
    expect(heard).toEqual(['a'])
  })

  test('nor can its data be changed, by a listener or by its sender', () => {
    const bus = createBus<{ plan: { steps: string[] } }>({ report: () => {} })
    const heard: unknown[] = []
    bus.on('plan', ({ data }) => void data.steps.push('forged'))
    bus.on('plan', ({ data }) => void heard.push(data))
    const plan = { steps: ['one'] }
    bus.send('plan', plan)
    plan.steps.push('later')
    expect(heard).toEqual([{ steps: ['one'] }])
  })
})
