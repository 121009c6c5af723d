import type { Sink } from '@troupe/kernel'
import { PIPE } from '@troupe/kernel/kit'
import { describe, expect, test } from 'vitest'
import { calm } from './agent.fixture.ts'
import { pullStream } from './pull-stream.ts'

function counting(log: string[]) {
  let left = () => {}
  const stopped = new Promise<void>((resolve) => {
    left = resolve
  })
  const produce = async (sink: Sink<number>) => {
    for (let i = 1; i <= 3; i++) {
      log.push(`write ${i}`)
      await sink.write(i)
      log.push(`wrote ${i}`)
    }
    await stopped
  }
  return pullStream<number>(produce, () => {
    log.push('left')
    left()
  })
}

describe('what an agent gives to read', () => {
  test('goes on when the reader comes back for more', async () => {
    const log: string[] = []
    const reader = counting(log)[Symbol.asyncIterator]()
    await calm()
    expect(log).toEqual([])
    expect(await reader.next()).toEqual({ value: 1, done: false })
    await calm()
    expect(log).toEqual(['write 1'])
    await reader.next()
    await calm()
    expect(log).toEqual(['write 1', 'wrote 1', 'write 2'])
  })

  test('can be left while nothing comes, and ends the pending reads', async () => {
    const log: string[] = []
    const reader = counting(log)[Symbol.asyncIterator]()
    for (let i = 0; i < 3; i++) await reader.next()
    const waiting = reader.next()
    await calm()
    await reader.return?.()
    expect(await waiting).toEqual({ value: undefined, done: true })
    expect(log.at(-1)).toBe('left')
    expect(await reader.next()).toEqual({ value: undefined, done: true })
  })

  test('what was not read before leaving is not gone on with', async () => {
    const log: string[] = []
    const reader = counting(log)[Symbol.asyncIterator]()
    await reader.next()
    await reader.return?.()
    expect(log).toEqual(['write 1', 'left'])
  })

  test('never begins if it is left before', async () => {
    const log: string[] = []
    const reader = counting(log)[Symbol.asyncIterator]()
    await reader.return?.()
    expect([await reader.next(), log]).toEqual([{ value: undefined, done: true }, []])
  })

  test('is read once, by pull or by push', async () => {
    const stream = counting([])
    stream[Symbol.asyncIterator]()
    expect(() => stream[Symbol.asyncIterator]()).toThrow(expect.objectContaining({ code: 'STREAM_CONSUMED' }))
    await expect(stream[PIPE]({ write: () => undefined })).rejects.toMatchObject({ code: 'STREAM_CONSUMED' })
  })

  test('values that come side by side are all read, and what fails is thrown at the end', async () => {
    const stream = pullStream<number>(
      async (sink) => {
        await Promise.all([1, 2, 3].map((n) => sink.write(n)))
        throw new Error('broken')
      },
      () => {},
    )
    const read: number[] = []
    await expect(
      (async () => {
        for await (const n of stream) read.push(n)
      })(),
    ).rejects.toThrow('broken')
    expect(read).toEqual([1, 2, 3])
  })
})
