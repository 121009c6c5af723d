import { type BaseEvent, EventType } from '@ag-ui/core'
import { describe, expect, test } from 'vitest'
import type { AgUiEvent } from '../protocol.ts'
import { Outlet } from './outlet.ts'

const event = (name: string) => ({ type: EventType.CUSTOM, name, value: null }) as BaseEvent as unknown as AgUiEvent
const nameOf = (given: AgUiEvent) => (given.type === EventType.CUSTOM ? given.name : given.type)

describe('events of those who run side by side', () => {
  test('come one by one, each batch as a whole, in the order they came', async () => {
    const log: string[] = []
    const outlet = new Outlet({
      write(given) {
        log.push(`begin ${nameOf(given)}`)
        return new Promise((resolve) => setImmediate(() => resolve(void log.push(`end ${nameOf(given)}`))))
      },
    })
    await Promise.all([
      outlet.write([event('a1'), event('a2')]),
      outlet.write([event('b1'), event('b2')]),
      outlet.write([]),
      outlet.write([event('c1')]),
    ])
    await outlet.write([event('d1')])
    expect(log).toEqual(['a1', 'a2', 'b1', 'b2', 'c1', 'd1'].flatMap((name) => [`begin ${name}`, `end ${name}`]))
  })

  test('go without a promise where nobody has to wait', () => {
    const log: string[] = []
    const outlet = new Outlet({ write: (given) => void log.push(nameOf(given)) })
    expect(outlet.write([event('a'), event('b')])).toBeUndefined()
    expect(log).toEqual(['a', 'b'])
  })

  test('fail together with the one that failed', async () => {
    const outlet = new Outlet({ write: () => Promise.reject(new Error('gone')) })
    const both = [outlet.write([event('a')]), outlet.write([event('b')])]
    await expect(both[0]).rejects.toThrow('gone')
    await expect(both[1]).rejects.toThrow('gone')
    await expect(outlet.write([event('c')])).rejects.toThrow('gone')
  })
})
