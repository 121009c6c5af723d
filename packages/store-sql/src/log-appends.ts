import { KernelError } from '@troupe/kernel'
import { nextMacrotask } from '@troupe/kernel/kit'
import { appendsAtOnce } from './appends-at-once.ts'
import { appendsInOrder } from './appends-in-order.ts'
import type { LogAppend } from './log-append.ts'
import type { SqlDatabase } from './open-database.ts'

interface Waiting {
  readonly append: LogAppend
  readonly settled: PromiseWithResolvers<void>
}

/** The most appends of a transaction, and the most characters of each; a larger one has a transaction of its own. */
const APPENDS_TOGETHER = 200
const SMALL_CHARS = 65_536

/**
 * Appends to run logs; small appends that are asked for at the same time, as those of the runs of a process, are one transaction.
 * Contract: an append that is refused, or whose log somebody else has locked, is written by `alone`, so it neither fails nor holds up the others;
 * of two appends to one log the second one waits. Does not wait for the disk.
 */
export function logAppends(
  database: SqlDatabase,
  alone: (append: LogAppend) => Promise<void>,
): (append: LogAppend) => Promise<void> {
  const { engine } = database
  const { watch, appendAtOnce } = engine
  const writeTogether = appendAtOnce ? appendsAtOnce(database, appendAtOnce) : appendsInOrder(database)

  const writeSome = async (some: readonly Waiting[]): Promise<void> => {
    let written: ReadonlyMap<number, number> = new Map()
    try {
      written = await writeTogether(some.map(({ append }) => append))
      watch.notify([...written.values()])
    } catch (error) {
      const coded = KernelError.is(error) ? error : engine.coded(error)
      // What one append did must not fail the others; a database that is down fails them all.
      if (coded.retryable) return void some.forEach(({ settled }) => void settled.reject(coded))
    }
    for (const [n, { append, settled }] of some.entries()) {
      if (written.has(n)) settled.resolve()
      else alone(append).then(settled.resolve, settled.reject)
    }
  }

  let waiting = new Map<string, Waiting>()
  const writeAll = async (): Promise<void> => {
    await nextMacrotask()
    const all = [...waiting.values()]
    waiting = new Map()
    for (let i = 0; i < all.length; i += APPENDS_TOGETHER) await writeSome(all.slice(i, i + APPENDS_TOGETHER))
  }

  return async function append(one) {
    const { key, run, after, rows } = one
    if (after === 0 || rows.length > 1 || (rows[0]?.events.length ?? 0) > SMALL_CHARS) return alone(one)
    const name = JSON.stringify([key.app, key.user, key.threadId, run])
    const before = waiting.get(name)
    if (before) {
      await before.settled.promise.catch(() => undefined)
      return append(one)
    }
    const settled = Promise.withResolvers<void>()
    waiting.set(name, { append: one, settled })
    if (waiting.size === 1) void writeAll()
    return settled.promise
  }
}
