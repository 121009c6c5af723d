import { expect } from 'vitest'
import { type PipeStream, stream } from '../index.ts'
import type { Run } from '../run/run.ts'

/** Waits until all pending work that needs no further input is done. */
export async function idle(): Promise<void> {
  for (let i = 0; i < 3; i++) await new Promise((resolve) => setImmediate(resolve))
}

/** For `beforeEach`: fails a test on an unhandled rejection. */
export function noUnhandledRejection(): () => Promise<void> {
  const unhandled: unknown[] = []
  const note = (reason: unknown) => void unhandled.push(reason)
  process.on('unhandledRejection', note)
  return async () => {
    await idle()
    process.off('unhandledRejection', note)
    expect(unhandled).toEqual([])
  }
}

/** Throws, as an expression. */
export function raise(value: unknown): never {
  throw value
}

/** Reads to the end; of a run it returns the events whatever the outcome, and throws only if the run never began. */
export async function collect<T>(source: AsyncIterable<T>): Promise<T[]> {
  const values: T[] = []
  const run = 'eventsWithoutThrowing' in source ? (source as Run & AsyncIterable<T>) : undefined
  for await (const value of run ? (run.eventsWithoutThrowing() as AsyncIterable<T>) : source) values.push(value)
  if (run && values.length === 0) await run
  return values
}

/** A stream of the numbers below n. */
export const count = (n: number): PipeStream<number> =>
  stream(async (sink) => {
    for (let i = 0; i < n; i++) await sink.write(i)
  })
