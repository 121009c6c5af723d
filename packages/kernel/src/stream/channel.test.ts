import fc from 'fast-check'
import { beforeEach, expect, test } from 'vitest'
import type { Sink } from '../index.ts'
import { KernelError, stream } from '../index.ts'
import { collect, count, idle, noUnhandledRejection, raise } from './stream.fixture.ts'

beforeEach(noUnhandledRejection)

async function ticks(n: number): Promise<void> {
  for (let i = 0; i < n; i++) await undefined
}

/** The state of a promise: pending, resolved, or rejected with an error. */
function watch(promise: unknown) {
  const seen = { state: 'pending' }
  Promise.resolve(promise).then(
    () => Object.assign(seen, { state: 'resolved' }),
    (error: unknown) => Object.assign(seen, { state: KernelError.is(error) ? error.code : String(error) }),
  )
  return seen
}

/** A sink outside its producer, and the iterator that reads it. */
function opened<T>(): { sink: () => Sink<T>; iterator: AsyncIterator<T>; end: (error?: unknown) => void } {
  let sink: Sink<T> | undefined
  const ended = Promise.withResolvers<void>()
  const source = stream<T>((own) => {
    sink = own
    return ended.promise
  })
  return {
    sink: () => sink ?? expect.fail('the producer has not begun'),
    iterator: source[Symbol.asyncIterator](),
    end: (error) => (error === undefined ? ended.resolve() : ended.reject(error)),
  }
}

test('parallel writers with a consumer of any pace lose nothing, keep their own order and run at most one value ahead', async () => {
  const writer = fc.array(fc.nat({ max: 4 }), { maxLength: 12 })
  const scenario = fc.record({
    writers: fc.array(writer, { minLength: 1, maxLength: 8 }),
    pauses: fc.array(fc.nat({ max: 5 }), { minLength: 1, maxLength: 10 }),
    ahead: fc.integer({ min: 1, max: 4 }),
  })
  await fc.assert(
    fc.asyncProperty(scenario, async ({ writers, pauses, ahead }) => {
      let accepted = 0
      let asked = 0
      let furthest = 0
      const source = stream<readonly [number, number]>(async (sink) => {
        const write = async (pausesBefore: readonly number[], w: number): Promise<void> => {
          for (const [n, pause] of pausesBefore.entries()) {
            await ticks(pause)
            const wait = sink.write([w, n])
            if (wait) await wait
            furthest = Math.max(furthest, ++accepted - asked)
          }
        }
        await Promise.all(writers.map(write))
      })
      const iterator = source[Symbol.asyncIterator]()
      const got: (readonly [number, number])[] = []
      for (let turn = 0, done = false; !done; turn++) {
        asked += ahead
        const pulled = await Promise.all(Array.from({ length: ahead }, () => iterator.next()))
        for (const result of pulled) if (!result.done) got.push(result.value)
        done = pulled.some((result) => result.done)
        await ticks(pauses[turn % pauses.length] ?? 0)
      }
      const byWriter = writers.map((_, w) => got.filter(([from]) => from === w).map(([, n]) => n))
      expect(byWriter).toEqual(writers.map((values) => values.map((_, n) => n)))
      expect(furthest).toBeLessThanOrEqual(1)
    }),
    { numRuns: 200 },
  )
})

test('an endless producer stands still while the consumer does', async () => {
  let produced = 0
  const iterator = stream<number>(async (sink) => {
    for (;;) {
      const wait = sink.write(produced++)
      if (wait) await wait
    }
  })[Symbol.asyncIterator]()
  for (let read = 1; read <= 5; read++) {
    expect(await iterator.next()).toEqual({ done: false, value: read - 1 })
    await idle()
    expect(produced).toBeLessThanOrEqual(read + 2)
  }
  await iterator.return?.()
  const stopped = produced
  await idle()
  expect(produced).toBe(stopped)
})

test('a writer that never waits neither loses values nor their order', async () => {
  const source = stream<number>(async (sink) => {
    const waits = Array.from({ length: 500 }, (_, i) => sink.write(i))
    await Promise.all(waits)
  })
  expect(await collect(source)).toEqual(Array.from({ length: 500 }, (_, i) => i))
})

test('a producer that forgot to wait crashes nothing when the consumer leaves', async () => {
  const source = stream<number>(async (sink) => {
    for (let i = 0; i < 10; i++) void sink.write(i)
  })
  for await (const value of source) if (value === 1) break
})

test('several next() at once are answered in order, those past the end with done', async () => {
  const iterator = count(3)[Symbol.asyncIterator]()
  const order: number[] = []
  const asked = Array.from({ length: 6 }, (_, i) =>
    iterator.next().then((result) => {
      order.push(i)
      return result.done ? 'done' : result.value
    }),
  )
  expect(await Promise.all(asked)).toEqual([0, 1, 2, 'done', 'done', 'done'])
  expect(order).toEqual([0, 1, 2, 3, 4, 5])
  expect(await iterator.next()).toMatchObject({ done: true })
})

test('leaving ends every pending next, even while the producer is silent', async () => {
  const { iterator, end } = opened<number>()
  const pending = [iterator.next(), iterator.next(), iterator.next()]
  await idle()
  const left = iterator.return?.()
  expect(await Promise.all(pending)).toMatchObject([{ done: true }, { done: true }, { done: true }])
  end()
  expect(await left).toMatchObject({ done: true })
  expect(await iterator.next()).toMatchObject({ done: true })
})

test('leaving rejects parked and later writes with ABORTED, and never throws out of write', async () => {
  const { sink, iterator, end } = opened<string>()
  const first = iterator.next()
  await ticks(3)
  const writes = ['a', 'b', 'c', 'd'].map((value) => watch(sink().write(value)))
  expect(await first).toEqual({ done: false, value: 'a' })
  const left = watch(iterator.return?.())
  writes.push(watch(sink().write('late')))
  await idle()
  expect(writes.slice(2)).toEqual(['ABORTED', 'ABORTED', 'ABORTED'].map((state) => ({ state })))
  end()
  await idle()
  expect(left.state).toBe('resolved')
})

test('leaving before the first next neither starts nor hangs, and leaving twice is leaving once', async () => {
  let started = false
  const iterator = stream<number>(async () => {
    started = true
  })[Symbol.asyncIterator]()
  const results = [await iterator.return?.(), await iterator.return?.(), await iterator.next()]
  expect(results).toMatchObject([{ done: true }, { done: true }, { done: true }])
  expect(started).toBe(false)
})

test('a write after the producer ended is never delivered', async () => {
  const { sink, iterator, end } = opened<string>()
  const first = iterator.next()
  await ticks(3)
  await sink().write('only')
  expect(await first).toEqual({ done: false, value: 'only' })
  end()
  expect(await iterator.next()).toMatchObject({ done: true })
  const late = watch(sink().write('late'))
  await idle()
  expect(late.state).not.toBe('pending')
  expect(await iterator.next()).toMatchObject({ done: true })
})

test.each([
  ['rejects', () => Promise.reject(new Error('broken'))],
  ['throws before it has a promise', () => raise(new Error('broken'))],
])('a producer that %s fails the reader once, after the values it had written', async (_, fail) => {
  const iterator = stream<number>((sink) => {
    void sink.write(1)
    return fail()
  })[Symbol.asyncIterator]()
  expect(await iterator.next()).toEqual({ done: false, value: 1 })
  await expect(iterator.next()).rejects.toThrow('broken')
  expect(await iterator.next()).toMatchObject({ done: true })
})

test('a producer that fails between two reads waits with its error for the next read', async () => {
  const { iterator, sink, end } = opened<number>()
  const first = iterator.next()
  await ticks(3)
  await sink().write(1)
  await first
  end(new Error('in between'))
  await idle()
  await expect(iterator.next()).rejects.toThrow('in between')
})

test('a producer that fails after the consumer left has no effect', async () => {
  const { iterator, end } = opened<number>()
  void iterator.next()
  await ticks(3)
  const left = watch(iterator.return?.())
  end(new Error('too late'))
  await idle()
  expect(left.state).not.toBe('pending')
  expect(await iterator.next()).toMatchObject({ done: true })
})

test('a producer that fails answers the first of several next() with its error, the others with done', async () => {
  const { iterator, end } = opened<number>()
  const pending = Promise.allSettled([iterator.next(), iterator.next(), iterator.next()])
  end(new Error('broken'))
  expect((await pending).map(({ status }) => status)).toEqual(['rejected', 'fulfilled', 'fulfilled'])
  expect(await iterator.next()).toMatchObject({ done: true })
})

test('a consumer that has left is shown neither the value nor the error that waited for it', async () => {
  const { iterator, sink, end } = opened<number>()
  const first = iterator.next()
  await ticks(3)
  await sink().write(1)
  await first
  void sink().write(2)
  end(new Error('broken'))
  await idle()
  await iterator.return?.()
  expect([await iterator.next(), await iterator.next()]).toMatchObject([{ done: true }, { done: true }])
})

test('a write is taken at once while the channel has room, and parks until the value before it was taken', async () => {
  const { iterator, sink } = opened<number>()
  const first = iterator.next()
  await ticks(3)
  expect([sink().write(1), sink().write(2)]).toEqual([undefined, undefined])
  const parked = [watch(sink().write(3)), watch(sink().write(4))]
  await first
  await idle()
  expect(parked).toEqual([{ state: 'pending' }, { state: 'pending' }])
  await iterator.next()
  await idle()
  expect(parked).toEqual([{ state: 'resolved' }, { state: 'pending' }])
  void iterator.return?.()
})

test('a gated write waits until its value was taken and the consumer is back, wherever it stood in line', async () => {
  const { iterator, sink } = opened<object>()
  const first = iterator.next()
  await ticks(3)
  const [plain, gated] = [{ type: 'custom' }, { type: 'tool-start' }]
  const states = [plain, gated, gated, plain].map((value) => watch(sink().write(value)))
  const seen: string[] = []
  const note = async () => {
    await idle()
    seen.push(states.map(({ state }) => state[0]).join(''))
  }
  await first
  await note()
  for (let i = 0; i < 3; i++) {
    await iterator.next()
    await note()
  }
  expect(seen).toEqual(['rppp', 'rppp', 'rrpr', 'rrrr'])
  void iterator.return?.()
})

test('the owner of a channel is notified once that its consumer has left, and the consumer waits for it', async () => {
  let seen = 0
  const gate = Promise.withResolvers<void>()
  const onLeave = () => {
    seen++
    return gate.promise
  }
  const channel = stream<number>(() => gate.promise, { onLeave })[Symbol.asyncIterator]()
  void channel.next()
  const left = [watch(channel.return?.()), watch(channel.return?.())]
  await idle()
  expect([seen, left[0]?.state]).toEqual([1, 'pending'])
  gate.resolve()
  await idle()
  expect([seen, left]).toEqual([1, [{ state: 'resolved' }, { state: 'resolved' }]])
})

test('a gated write goes through at once where the consumer has asked for more already', async () => {
  const { iterator, sink } = opened<object>()
  const pending = [iterator.next(), iterator.next()]
  await ticks(3)
  expect(sink().write({ type: 'tool-start' })).toBeUndefined()
  const wait = watch(sink().write({ type: 'action' }))
  await Promise.all(pending)
  await idle()
  expect(wait.state).toBe('pending')
  void iterator.return?.()
})

test('the gate of a stream decides which writes wait until the consumer comes back', async () => {
  const written: string[] = []
  const source = stream<string>(
    async (sink) => {
      for (const value of ['plain', 'gated', 'last']) {
        const wait = sink.write(value)
        if (wait) await wait
        written.push(value)
      }
    },
    { gate: (value) => value === 'gated' },
  )[Symbol.asyncIterator]()
  await source.next()
  await source.next()
  await idle()
  expect(written).toEqual(['plain'])
  await source.next()
  await idle()
  expect(written).toEqual(['plain', 'gated', 'last'])
})
