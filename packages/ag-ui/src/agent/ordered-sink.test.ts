import { type BaseEvent, EventType } from '@ag-ui/core'
import { describe, expect, test } from 'vitest'
import type { AgUiEvent } from '../protocol.ts'
import { OrderedSink } from './ordered-sink.ts'

const event = (name: string) => ({ type: EventType.CUSTOM, name, value: null }) as BaseEvent as unknown as AgUiEvent
const nameOf = (given: AgUiEvent) => (given.type === EventType.CUSTOM ? given.name : given.type)

describe('events of parallel writers', () => {
  test('are written one by one, each batch as a whole, in order', async () => {
    const log: string[] = []
    const sink = new OrderedSink({
      write(given) {
        log.push(`begin ${nameOf(given)}`)
        return new Promise((resolve) => setImmediate(() => resolve(void log.push(`end ${nameOf(given)}`))))
      },
    })
    await Promise.all([
      sink.write([event('a1'), event('a2')]),
      sink.write([event('b1'), event('b2')]),
      sink.write([]),
      sink.write([event('c1')]),
    ])
    await sink.write([event('d1')])
    expect(log).toEqual(['a1', 'a2', 'b1', 'b2', 'c1', 'd1'].flatMap((name) => [`begin ${name}`, `end ${name}`]))
  })

  test('are written without a promise if the sink does not wait', () => {
    const log: string[] = []
    const sink = new OrderedSink({ write: (given) => void log.push(nameOf(given)) })
    expect(sink.write([event('a'), event('b')])).toBeUndefined()
    expect(log).toEqual(['a', 'b'])
  })

  test('fail after a write that failed', async () => {
    const sink = new OrderedSink({ write: () => Promise.reject(new Error('gone')) })
    const both = [sink.write([event('a')]), sink.write([event('b')])]
    await expect(both[0]).rejects.toThrow('gone')
    await expect(both[1]).rejects.toThrow('gone')
    await expect(sink.write([event('c')])).rejects.toThrow('gone')
  })
})
