import type { Json, RunLogStore } from '@troupe/kernel'
import { checkId, checkNumber, checkRef, failure, type ThreadKey } from './checks.ts'
import { compiled, type Slots } from './compiled.ts'
import { locked, threadOf } from './rows.ts'
import type { Tables } from './schema.ts'
import { type Queries, type Session, statements } from './session.ts'
import { fromJson, toJson } from './text.ts'

/** The most events in one row. */
const EVENTS_PER_ROW = 100
/** The most events in one batch of a follower, up to one row more. */
const EVENTS_PER_BATCH = 400

/** A log of a thread. */
interface LogKey {
  readonly thread: number
  readonly run: string
}

/** Run logs in SQL. */
export function sqlRunLog({ who, engine, query, write }: Session): RunLogStore {
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
        .select(['id', 'last_seq', 'closed']),
    ),
  )
  const begin = compiled((db, { thread, run }: Slots<LogKey>) =>
    db
      .insertInto('troupe_run_logs')
      .values({ thread, run_id: run, last_seq: 0, closed: 0 })
      .onConflict((conflict) => conflict.columns(['thread', 'run_id']).doNothing())
      .returning(['id', 'last_seq', 'closed']),
  )
  const add = compiled((db, rows: Slots<readonly Tables['troupe_run_events'][]>) =>
    db.insertInto('troupe_run_events').values(rows),
  )
  const change = compiled((db, { id, ...changed }: Slots<{ id: number; last_seq: number; closed: number }>) =>
    db.updateTable('troupe_run_logs').set(changed).where('id', '=', id),
  )
  const logOf = compiled((db, { run, ...key }: Slots<ThreadKey & { run: string }>) =>
    threadOf(db, key).innerJoin('troupe_run_logs as l', 'l.thread', 't.id').where('l.run_id', '=', run).select('l.id'),
  )
  const eventsOf = eventReader()

  return {
    async append(ref, runId, after, events, close = false) {
      const key = checkRef(who, ref)
      const run = checkId(who, 'runId', runId)
      checkNumber(who, 'after', after)
      const rows = packed(who, after, events)
      const { log, last } = await write(async (tx) => {
        const [thread] = await lockThread(tx, key)
        if (!thread) throw failure(who, 'NOT_FOUND', 'unknown thread', ref.threadId)
        const logKey = { thread: thread.id, run }
        // If another process begins the log at the same time, the second look finds it.
        const log = (await lockLog(tx, logKey))[0] ?? (await begin(tx, logKey))[0] ?? (await lockLog(tx, logKey))[0]
        if (!log || log.closed || after !== log.last_seq) {
          const ended = log?.closed ? 'was closed' : 'ends'
          throw failure(who, 'VERSION_CONFLICT', `the log ${ended} at ${log?.last_seq ?? 0}`, after)
        }
        const last = after + events.length
        for (const some of statements(rows)) {
          await add(
            tx,
            some.map((row) => ({ log: log.id, ...row })),
          )
        }
        if (events.length > 0 || close) await change(tx, { id: log.id, last_seq: last, closed: close ? 1 : 0 })
        await engine.announce?.(tx, [log.id])
        return { log: log.id, last }
      })
      watch.notify([log])
      return last
    },

    async *follow(ref, runId, { after = 0, live = true, signal }) {
      const key = checkRef(who, ref)
      const run = checkId(who, 'runId', runId)
      checkNumber(who, 'after', after)
      const [found] = await query((db) => logOf(db, { ...key, run }))
      if (!found) throw failure(who, 'NOT_FOUND', 'unknown run log', runId)
      const log = found.id
      let from = Math.min(Math.max(0, Math.floor(after)), Number.MAX_SAFE_INTEGER - EVENTS_PER_BATCH)
      while (!signal.aborted && !watch.closed) {
        // Armed before the read, so that no change between read and wait is missed.
        const { changed, left, disarm } = watch.arm(log, signal)
        let batch: readonly { readonly seq: number; readonly event: Json }[]
        try {
          const looked = query((db) => eventsOf(db, log, from))
          const next = await Promise.race([looked, left])
          if (!next) {
            // An abort does not wait for a slow database.
            looked.catch(() => {})
            return
          }
          batch = next.batch
          if (batch.length === 0) {
            if (next.ended || !live) return
            await changed
          }
        } finally {
          disarm()
        }
        if (batch.length === 0) continue
        if (signal.aborted) return
        from = batch.at(-1)?.seq ?? from
        yield batch
      }
    },
  }
}

/** Reads the events after `from`; `ended` if no more will come, because the log is closed or gone. */
function eventReader() {
  const read = compiled((db, { log, from, upTo }: Slots<{ log: number; from: number; upTo: number }>) =>
    db
      .selectFrom('troupe_run_logs as l')
      .leftJoin('troupe_run_events as e', (join) =>
        join.onRef('e.log', '=', 'l.id').on('e.last_seq', '>', from).on('e.first_seq', '<=', upTo),
      )
      .where('l.id', '=', log)
      .select(['l.closed', 'e.first_seq', 'e.events'])
      .orderBy('e.first_seq'),
  )
  return async (db: Queries, log: number, from: number) => {
    const rows = await read(db, { log, from, upTo: from + EVENTS_PER_BATCH })
    const batch = rows.flatMap(({ first_seq, events }) =>
      events === null || first_seq === null
        ? []
        : fromJson<Json[]>(events)
            .map((event, i) => ({ seq: first_seq + i, event }))
            .filter(({ seq }) => seq > from),
    )
    return { batch, ended: rows.length === 0 || rows[0]?.closed === 1 }
  }
}

/** Events as rows. */
function packed(who: string, after: number, events: readonly Json[]) {
  const rows: { readonly first_seq: number; readonly last_seq: number; readonly events: string }[] = []
  for (let i = 0; i < events.length; i += EVENTS_PER_ROW) {
    const some = events.slice(i, i + EVENTS_PER_ROW)
    rows.push({
      first_seq: after + i + 1,
      last_seq: after + i + some.length,
      events: toJson(some, who, 'events'),
    })
  }
  return rows
}
