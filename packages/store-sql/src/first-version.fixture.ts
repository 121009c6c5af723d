import type { Engine } from './engine.ts'
import { MIGRATIONS } from './migrations.ts'

/** Makes a database as the first version of the schema left it, with a thread of anna's, a message, a processed id, a run, a tool call and a lease. */
export async function makeFirstVersion({ db, flavour, lockSchema }: Engine): Promise<void> {
  await db.transaction().execute(async (tx) => {
    await lockSchema(tx)
    await tx.schema
      .createTable('troupe_schema')
      .addColumn('version', 'integer', (column) => column.notNull())
      .execute()
    await MIGRATIONS[0]?.(tx, flavour)
    await tx.insertInto('troupe_schema').values({ version: 1 }).execute()
    for (const [table, row] of Object.entries(ROWS)) {
      await tx
        .insertInto(table as 'troupe_threads')
        .values(row as never)
        .execute()
    }
  })
  await db.destroy()
}

/** By table; the columns are those that the first version had. */
const ROWS: { readonly [table: string]: object } = {
  troupe_owners: { app: 'app', user_id: 'anna', thread_seq: 1 },
  troupe_threads: {
    owner: 1,
    thread_id: 'thread-1',
    seq: 1,
    version: 3,
    state: '{"a":1}',
    open_calls: '[]',
    checkpoint: null,
    message_seq: 1,
    run_seq: 1,
    call_seq: 1,
    updated_at: 5,
  },
  troupe_messages: {
    thread: 1,
    seq: 1,
    message_id: 'm1',
    run_id: 'run-1',
    message: '{"id":"m1","role":"user","content":"Hi"}',
  },
  troupe_processed: { thread: 1, foreign_id: 'p' },
  troupe_runs: {
    thread: 1,
    seq: 1,
    owner: 1,
    run_id: 'run-1',
    parent_run_id: null,
    agent_name: 'agent',
    status: 'generating',
    text_length: 0,
    usage: null,
    error: null,
    started_at: 2,
    ended_at: null,
  },
  troupe_tool_calls: {
    thread: 1,
    call_id: 'c1',
    seq: 1,
    run_id: 'run-1',
    message_id: 'm1',
    name: 'look',
    arguments: '{}',
    status: 'running',
    result: null,
    started_at: 3,
    ended_at: null,
  },
  troupe_leases: { owner: 1, thread_id: 'thread-1', run_id: 'run-1', expires_at: 100, cancel: null },
}
