import { beforeEach, expect, test } from 'vitest'
import type { PipeStream, Sink } from '../index.ts'
import { stream } from '../index.ts'
import { mapStream, PIPE, pipe, sinkTo } from '../kit.ts'
import { collect, count, idle, noUnhandledRejection, raise } from './stream.fixture.ts'

beforeEach(noUnhandledRejection)

/** A generator without end that says whether it was closed. */
function endless() {
  const seen = { closed: false }
  async function* source(): AsyncGenerator<number> {
    try {
      for (let i = 0; ; i++) yield i
    } finally {
      seen.closed = true
    }
  }
  return { seen, source: source() }
}

test('a stream that is not read never starts its producer, mapped or not', async () => {
  let started = 0
  const lazy = (): PipeStream<number> =>
    stream<number>(async () => {
      started++
    })
  lazy()
  mapStream(lazy(), (value) => value)
  await idle()
  expect(started).toBe(0)
})

const take: Record<string, (source: PipeStream<number>) => Promise<unknown>> = {
  iterator: collect,
  pipe: async (source) => source[PIPE]({ write() {} }),
  'pipe()': (source) => pipe(source, { write() {} }),
  mapStream: (source) => collect(mapStream(source, (value) => value)),
}
const pairs = Object.keys(take).flatMap((first) => Object.keys(take).map((second) => [first, second] as const))

test.each(pairs)('a stream taken by %s and again by %s is STREAM_CONSUMED', async (first, second) => {
  const source = count(2)
  await take[first]?.(source)
  await expect(take[second]?.(source)).rejects.toMatchObject({ code: 'STREAM_CONSUMED' })
  const mapped = mapStream(count(2), (value) => value)
  await take[first]?.(mapped)
  await expect(take[second]?.(mapped)).rejects.toMatchObject({ code: 'STREAM_CONSUMED' })
})

test('a second taker does not disturb the first', async () => {
  const source = count(3)
  const iterator = source[Symbol.asyncIterator]()
  expect(await iterator.next()).toEqual({ done: false, value: 0 })
  await expect(collect(source)).rejects.toMatchObject({ code: 'STREAM_CONSUMED' })
  await expect(pipe(source, { write() {} })).rejects.toMatchObject({ code: 'STREAM_CONSUMED' })
  expect([await iterator.next(), await iterator.next()]).toMatchObject([{ value: 1 }, { value: 2 }])
})

test('mapping leaves out undefined alone and keeps every other falsy value', async () => {
  const falsy = [0, '', false, null, Number.NaN, undefined, 0n]
  const source = stream<unknown>(async (sink) => {
    for (const value of falsy) await sink.write(value)
  })
  expect(await collect(mapStream(source, (value) => value))).toEqual([0, '', false, null, Number.NaN, 0n])
})

test('a map that throws fails the reader and closes a generator underneath', async () => {
  const { seen, source } = endless()
  const mapped = mapStream(source, (value) => (value === 2 ? raise(new Error('no twos')) : value))
  const got: number[] = []
  await expect(pipe(mapped, { write: (value) => void got.push(value) })).rejects.toThrow('no twos')
  expect([got, seen.closed]).toEqual([[0, 1], true])
})

test('leaving a mapped generator closes it, through a thousand layers', async () => {
  const { seen, source } = endless()
  let mapped: AsyncIterable<number> = source
  for (let layer = 0; layer < 1_000; layer++) mapped = mapStream(mapped, (value) => value + 1)
  const iterator = mapped[Symbol.asyncIterator]()
  expect(await iterator.next()).toEqual({ done: false, value: 1_000 })
  await iterator.return?.()
  await idle()
  expect(seen.closed).toBe(true)
})

test.each(['throws', 'rejects'])('a sink whose write %s stops the source, generator or stream', async (how) => {
  const full = (): void | Promise<void> =>
    how === 'throws' ? raise(new Error('full')) : Promise.reject(new Error('full'))
  const sink: Sink<number> = { write: (value) => (value < 2 ? undefined : full()) }
  const { seen, source } = endless()
  await expect(pipe(source, sink)).rejects.toThrow('full')
  expect(seen.closed).toBe(true)
  await expect(pipe(count(100), sink)).rejects.toThrow('full')
})

test('the pipe symbol is the same in every copy of the kernel', () => {
  expect(Symbol.keyFor(PIPE)).toBe('troupe.pipe')
})

test('a pipe of another copy of the kernel is used instead of its iterator', async () => {
  const foreign = {
    async [PIPE](sink: Sink<number>): Promise<void> {
      await sink.write(7)
    },
    [Symbol.asyncIterator](): AsyncIterator<number> {
      throw new Error('iterated')
    },
  }
  expect(await collect(mapStream(foreign, (value) => value))).toEqual([7])
})

test('a producer can see that values are no longer taken, through a map too', async () => {
  const sinks: Sink<number>[] = []
  const source = stream<number>(async (sink) => {
    sinks.push(sink)
    await sink.write(1)
    await sink.write(2)
  })
  const iterator = mapStream(source, (value) => value)[Symbol.asyncIterator]()
  await iterator.next()
  expect(sinks.map(({ closed }) => closed)).toEqual([false])
  await iterator.return?.()
  expect(sinks.map(({ closed }) => closed)).toEqual([true])
})

test('a sink in front of another is closed when that one is', () => {
  const taken: number[] = []
  const open = { closed: false, write: (value: number) => void taken.push(value) }
  const front = sinkTo(open, (value: string) => open.write(value.length))
  front.write('four')
  expect([taken, front.closed]).toEqual([[4], false])
  open.closed = true
  expect(front.closed).toBe(true)
  expect(sinkTo({ write: () => undefined }, () => undefined).closed).toBe(false)
})
