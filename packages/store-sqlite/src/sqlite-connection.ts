import type { DatabaseSync, SQLInputValue, StatementSync } from 'node:sqlite'
import { systemClock } from '@troupe/kernel/kit'
import type { CompiledQuery, DatabaseConnection, QueryResult } from 'kysely'
import { isBusy } from './sqlite-error.ts'

/** The most cached statements; their texts differ only by the number of rows, so there are few. */
const STATEMENTS_KEPT = 100

/** One connection of node:sqlite, which keeps its statements. */
export class SqliteConnection implements DatabaseConnection {
  readonly #database: DatabaseSync
  readonly #busyTimeoutMs: number
  readonly #statements = new Map<string, StatementSync>()

  constructor(database: DatabaseSync, busyTimeoutMs: number) {
    this.#database = database
    this.#busyTimeoutMs = busyTimeoutMs
  }

  /** Contract: waits while another connection holds the lock, but never in a transaction, which has its lock from the start. */
  async executeQuery<R>({ sql, parameters }: CompiledQuery): Promise<QueryResult<R>> {
    const deadline = systemClock.now() + this.#busyTimeoutMs
    for (let pause = 1; ; pause = Math.min(pause * 2, 25)) {
      try {
        return { rows: this.#statement(sql).all(...(parameters as readonly SQLInputValue[])) as R[] }
      } catch (error) {
        if (!isBusy(error) || this.#database.isTransaction || systemClock.now() >= deadline) throw error
      }
      await new Promise<void>((resolve) => systemClock.after(pause, resolve))
    }
  }

  // biome-ignore lint/correctness/useYield: pages are short, so nothing streams
  async *streamQuery<R>(): AsyncIterableIterator<QueryResult<R>> {
    throw new Error('sqlite-dialect: streaming is not supported')
  }

  #statement(sql: string): StatementSync {
    const kept = this.#statements.get(sql)
    if (kept) return kept
    const statement = this.#database.prepare(sql)
    if (this.#statements.size >= STATEMENTS_KEPT) {
      for (const oldest of this.#statements.keys()) {
        this.#statements.delete(oldest)
        break
      }
    }
    this.#statements.set(sql, statement)
    return statement
  }
}
