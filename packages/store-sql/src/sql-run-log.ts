import type { LogEntry, RunLogStore } from '@troupe/kernel'
import { checkAppend, checkCompact, checkFollow, logConflict, logNotFound, threadNotFound } from '@troupe/kernel/store'
import type { Transaction } from 'kysely'
import { fromColumn, toColumn } from './column-text.ts'
import { compiled, type Slots, sure } from './compiled.ts'
import type { Queries } from './engine.ts'
import type { LogAppend } from './log-append.ts'
import { logAppends } from './log-appends.ts'
import type { SqlDatabase } from './open-database.ts'
import { locked, threadOf } from './rows.ts'
import { runLogPrune } from './run-log-prune.ts'
import { compactRows, entriesOf, eventRows } from './run-log-rows.ts'
import type { Tables } from './schema.ts'
import { statements } from './statements.ts'
import { type ThreadKey, threadKey } from './thread-key.ts'

/** The most events in one batch of a follower, up to one row more, and about the most characters. */
const EVENTS_PER_BATCH = 400
const CHARS_PER_BATCH = 262_144
/** The most rows of a batch, and of the first one, because rows may be large. */
const ROWS_PER_BATCH = 100
const FIRST_ROWS = 4

/** A log of a thread. */
interface LogKey {
  readonly thread: number
  readonly run: string
}

/** Run logs in SQL. */
export function sqlRunLog(database: SqlDatabase): RunLogStore {
  const { who, engine, now, query, write } = database
  const { watch } = engine
  const lockThread = compiled((db, key: Slots<ThreadKey>) =>
    locked(engine, threadOf(db, key).select('t.id'), 'key share'),
  )
  const lockLog = compiled((db, { thread, run }: Slots<LogKey>) =>
    locked(
      engine,
      db
        .selectFrom('troupe_run_logs as t')
        .where('thread', '=', thread)
        .where('run_id', '=', run)
        .select(['id', 'last_seq', 'closed', 'compacted']),
    ),
  )
  const begin = compiled((db, { thread, run, at }: Slots<LogKey & { at: number }>) =>
    db
      .insertInto('troupe_run_logs')
      .values({ thread, run_id: run, last_seq: 0, closed: 0, at })
      .onConflict((conflict) => conflict.columns(['thread', 'run_id']).doNothing())
      .returning(['id', 'last_seq', 'closed', 'compacted']),
  )
  const add = compiled((db, rows: Slots<readonly Tables['troupe_run_events'][]>) =>
    db.insertInto('troupe_run_events').values(rows),
  )
  const grow = compiled((db, { id, last_seq }: Slots<{ id: number; last_seq: number }>) =>
    db.updateTable('troupe_run_logs').set({ last_seq }).where('id', '=', id),
  )
  const end = compiled((db, { id, ...changed }: Slots<{ id: number; last_seq: number; at: number }>) =>
    db
      .updateTable('troupe_run_logs')
      .set({ ...changed, closed: 1 })
      .where('id', '=', id),
  )
  const markCompacted = compiled((db, { id }: Slots<{ id: number }>) =>
    db.updateTable('troupe_run_logs').set({ compacted: 1 }).where('id', '=', id),
  )
  const clear = compiled((db, { log }: Slots<{ log: number }>) =>
    db.deleteFrom('troupe_run_events').where('log', '=', log),
  )
  const logOf = compiled((db, { run, ...key }: Slots<ThreadKey & { run: string }>) =>
    threadOf(db, key).innerJoin('troupe_run_logs as l', 'l.thread', 't.id').where('l.run_id', '=', run).select('l.id'),
  )
  const eventsOf = eventReader()

  /** Finds or begins a log; if another process begins it at the same time, the second look finds it. */
  const openLog = async (tx: Queries, key: LogKey) => {
    const [log] = await lockLog(tx, key)
    if (log) return log
    const [begun] = await begin(tx, { ...key, at: now() })
    return begun ?? sure(await lockLog(tx, key))
  }

  const appendRows = async (tx: Transaction<Tables>, log: number, rows: ReturnType<typeof eventRows>) => {
    for (const some of statements(rows)) {
      await add(
        tx,
        some.map((row) => ({ log, ...row })),
      )
    }
  }

  /** Reads the next events, or waits for a change and returns none; undefined if no more will come. */
  const nextBatch = async (log: number, from: Position, live: boolean, signal: AbortSignal) => {
    // Armed before the read, so that no change between read and wait is missed.
    const { changed, left, disarm } = watch.arm(log, signal)
    try {
      const reading = query((db) => eventsOf(db, log, from))
      const next = await Promise.race([reading, left])
      if (!next) {
        // An abort does not wait for a slow database.
        reading.catch(() => {})
        return undefined
      }
      if (next.batch.length > 0) return next
      if (next.ended || !live) return undefined
      await changed
      return next
    } finally {
      disarm()
    }
  }

  /** Writes one append: the first of a log, a large one, and one that is refused. */
  const appendAlone = async ({ key, run, after, last, close, rows }: LogAppend): Promise<void> => {
    const log = await database.relaxed(async (tx) => {
      const [thread] = await lockThread(tx, key)
      if (!thread) throw threadNotFound(who, fromColumn(key.threadId))
      const { id, last_seq, closed } = await openLog(tx, { thread: thread.id, run })
      const conflict = logConflict(who, { last: last_seq, closed: closed === 1 }, after)
      if (conflict) throw conflict
      await appendRows(tx, id, rows)
      if (close) await end(tx, { id, last_seq: last, at: now() })
      else if (last > after) await grow(tx, { id, last_seq: last })
      await engine.announce?.(tx, [id])
      return id
    })
    watch.notify([log])
  }
  const appendSoon = logAppends(database, appendAlone)

  return {
    async append(ref, runId, after, events, close = false, texts) {
      const key = threadKey(who, ref)
      checkAppend(who, runId, after, events, texts)
      const rows = eventRows(who, after, events, texts)
      const last = after + events.length
      await query(() => appendSoon({ key, run: toColumn(runId), after, last, close, rows }))
      return last
    },

    async *follow(ref, runId, options) {
      const key = threadKey(who, ref)
      const { after, live, signal } = checkFollow(who, runId, options)
      const [log] = await query((db) => logOf(db, { ...key, run: toColumn(runId) }))
      if (!log) throw logNotFound(who, runId)
      let from: Position = { after, rows: FIRST_ROWS }
      while (!signal.aborted && !watch.closed) {
        const next = await nextBatch(log.id, from, live, signal)
        if (!next) return
        if (next.batch.length === 0) continue
        if (signal.aborted) return
        from = next.to
        yield next.batch
      }
    },

    async compact(ref, runId, entries) {
      const key = threadKey(who, ref)
      checkCompact(who, runId, entries)
      const rows = compactRows(who, entries)
      return write(async (tx) => {
        const [thread] = await lockThread(tx, key)
        const [log] = thread ? await lockLog(tx, { thread: thread.id, run: toColumn(runId) }) : []
        if (log?.closed !== 1 || log.compacted === 1 || entries.at(-1)?.seq !== log.last_seq) return false
        await clear(tx, { log: log.id })
        await appendRows(tx, log.id, rows)
        await markCompacted(tx, { id: log.id })
        return true
      })
    },

    prune: runLogPrune(database),
  }
}

/** The last event that a follower has, and how many rows it reads next. */
interface Position {
  readonly after: number
  readonly rows: number
}

/** Reads the events after a position; `ended` if no more will come, because the log is closed or gone. Contract: the number of rows follows from the size of those before. */
function eventReader() {
  const read = compiled((db, { log, after, upTo, rows }: Slots<{ log: number; upTo: number } & Position>) =>
    db
      .selectFrom('troupe_run_logs as l')
      .leftJoin('troupe_run_events as e', (join) =>
        join.onRef('e.log', '=', 'l.id').on('e.last_seq', '>', after).on('e.first_seq', '<=', upTo),
      )
      .where('l.id', '=', log)
      .select(['l.closed', 'e.first_seq', 'e.events'])
      .orderBy('e.first_seq')
      .limit(rows),
  )
  return async (db: Queries, log: number, { after, rows: limit }: Position) => {
    const upTo = Math.min(after + EVENTS_PER_BATCH, Number.MAX_SAFE_INTEGER)
    const rows = await read(db, { log, after, upTo, rows: limit })
    const batch: LogEntry[] = []
    let [used, chars] = [0, 1]
    for (const { first_seq, events } of rows) {
      // The others are read again, when there is room for them.
      if (events === null || first_seq === null || chars > CHARS_PER_BATCH) break
      used++
      chars += events.length
      for (const entry of entriesOf(first_seq, events)) if (entry.seq > after) batch.push(entry)
    }
    const fitting = Math.floor((used * CHARS_PER_BATCH) / chars)
    const to = { after: batch.at(-1)?.seq ?? after, rows: Math.max(1, Math.min(fitting, limit * 4, ROWS_PER_BATCH)) }
    return { batch, to, ended: rows.length === 0 || rows[0]?.closed === 1 }
  }
}
