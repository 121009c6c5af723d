import { type ColumnDefinitionBuilder, type Kysely, sql } from 'kysely'
import { addBlobs } from './add-blobs.ts'
import { addCounters } from './add-counters.ts'
import { addFacts } from './add-facts.ts'
import { plainFactTerms } from './plain-fact-terms.ts'
import type { Flavour, Tables } from './schema.ts'
import { OPEN_END } from './thread-path.ts'

/** The migrations of the schema. Contract: append only; a database with n applied migrations has version n. */
export const MIGRATIONS: readonly ((db: Kysely<Tables>, flavour: Flavour) => Promise<void>)[] = [
  first,
  second,
  third,
  fourth,
  fifth,
  sixth,
  seventh,
  eighth,
  ninth,
  tenth,
  eleventh,
  addCounters,
  addFacts,
  addBlobs,
  plainFactTerms,
]

async function first({ schema }: Kysely<Tables>, flavour: Flavour): Promise<void> {
  /** A table whose rows get a key that no earlier row ever had. */
  const keyed = (table: string, key = 'id') =>
    flavour === 'sqlite'
      ? schema.createTable(table).addColumn(key, 'integer', (column) => column.primaryKey().autoIncrement())
      : schema
          .createTable(table)
          .addColumn(key, 'bigint', (column) => column.primaryKey().generatedByDefaultAsIdentity())
  /** A table whose rows are deleted with their thread. */
  const ofThread = <T extends string>(table: T) =>
    schema
      .createTable(table)
      .addColumn('thread', 'bigint', (column) => column.notNull().references('troupe_threads.id').onDelete('cascade'))

  await keyed('troupe_owners')
    .addColumn('app', 'text', (column) => column.notNull())
    .addColumn('user_id', 'text', (column) => column.notNull())
    .addColumn('thread_seq', 'bigint', (column) => column.notNull())
    .addUniqueConstraint('troupe_owners_name', ['app', 'user_id'])
    .execute()

  await keyed('troupe_threads')
    .addColumn('owner', 'bigint', (column) => column.notNull().references('troupe_owners.id'))
    .addColumn('thread_id', 'text', (column) => column.notNull())
    .addColumn('seq', 'bigint', (column) => column.notNull())
    .addColumn('version', 'bigint', (column) => column.notNull())
    .addColumn('state', 'text', (column) => column.notNull())
    .addColumn('open_calls', 'text', (column) => column.notNull())
    .addColumn('checkpoint', 'text')
    .addColumn('message_seq', 'bigint', (column) => column.notNull())
    .addColumn('run_seq', 'bigint', (column) => column.notNull())
    .addColumn('call_seq', 'bigint', (column) => column.notNull())
    .addColumn('updated_at', 'double precision', (column) => column.notNull())
    .addUniqueConstraint('troupe_threads_name', ['owner', 'thread_id'])
    .addUniqueConstraint('troupe_threads_seq', ['owner', 'seq'])
    .execute()
  await schema.createIndex('troupe_threads_age').on('troupe_threads').columns(['updated_at', 'id']).execute()

  await ofThread('troupe_messages')
    .addColumn('seq', 'bigint', (column) => column.notNull())
    .addColumn('message_id', 'text', (column) => column.notNull())
    .addColumn('run_id', 'text', (column) => column.notNull())
    .addColumn('message', 'text', (column) => column.notNull())
    .addPrimaryKeyConstraint('troupe_messages_seq', ['thread', 'seq'])
    .addUniqueConstraint('troupe_messages_name', ['thread', 'message_id'])
    .execute()

  await ofThread('troupe_processed')
    .addColumn('foreign_id', 'text', (column) => column.notNull())
    .addPrimaryKeyConstraint('troupe_processed_name', ['thread', 'foreign_id'])
    .execute()

  await ofThread('troupe_runs')
    .addColumn('seq', 'bigint', (column) => column.notNull())
    .addColumn('owner', 'bigint', (column) => column.notNull())
    .addColumn('run_id', 'text', (column) => column.notNull())
    .addColumn('parent_run_id', 'text')
    .addColumn('agent_name', 'text', (column) => column.notNull())
    .addColumn('status', 'text', (column) => column.notNull())
    .addColumn('text_length', 'bigint', (column) => column.notNull())
    .addColumn('usage', 'text')
    .addColumn('error', 'text')
    .addColumn('started_at', 'double precision', (column) => column.notNull())
    .addColumn('ended_at', 'double precision')
    .addPrimaryKeyConstraint('troupe_runs_seq', ['thread', 'seq'])
    .addUniqueConstraint('troupe_runs_name', ['owner', 'run_id'])
    .execute()
  await schema
    .createIndex('troupe_runs_open')
    .on('troupe_runs')
    .column('started_at')
    .where(sql.ref('status'), '=', sql.lit('generating'))
    .execute()

  await ofThread('troupe_run_texts')
    .addColumn('run_seq', 'bigint', (column) => column.notNull())
    .addColumn('start', 'bigint', (column) => column.notNull())
    .addColumn('text', 'text', (column) => column.notNull())
    .addPrimaryKeyConstraint('troupe_run_texts_start', ['thread', 'run_seq', 'start'])
    .execute()

  await ofThread('troupe_tool_calls')
    .addColumn('call_id', 'text', (column) => column.notNull())
    .addColumn('seq', 'bigint', (column) => column.notNull())
    .addColumn('run_id', 'text', (column) => column.notNull())
    .addColumn('message_id', 'text', (column) => column.notNull())
    .addColumn('name', 'text', (column) => column.notNull())
    .addColumn('arguments', 'text', (column) => column.notNull())
    .addColumn('status', 'text', (column) => column.notNull())
    .addColumn('result', 'text')
    .addColumn('started_at', 'double precision', (column) => column.notNull())
    .addColumn('ended_at', 'double precision')
    .addPrimaryKeyConstraint('troupe_tool_calls_name', ['thread', 'call_id'])
    .execute()
  await schema
    .createIndex('troupe_tool_calls_run')
    .on('troupe_tool_calls')
    .columns(['thread', 'run_id', 'seq'])
    .execute()

  await keyed('troupe_usage')
    .addColumn('thread', 'bigint', (column) => column.notNull().references('troupe_threads.id').onDelete('cascade'))
    .addColumn('span_id', 'text', (column) => column.notNull())
    .addColumn('run_id', 'text', (column) => column.notNull())
    .addColumn('model', 'text', (column) => column.notNull())
    .addColumn('input_tokens', 'double precision', (column) => column.notNull())
    .addColumn('output_tokens', 'double precision', (column) => column.notNull())
    .addColumn('reasoning_tokens', 'double precision')
    .addColumn('cached_input_tokens', 'double precision')
    .addColumn('finish_reason', 'text')
    .addColumn('message_id', 'text')
    .addColumn('request_id', 'text')
    .addUniqueConstraint('troupe_usage_span', ['thread', 'span_id'])
    .execute()

  await keyed('troupe_run_logs')
    .addColumn('thread', 'bigint', (column) => column.notNull().references('troupe_threads.id').onDelete('cascade'))
    .addColumn('run_id', 'text', (column) => column.notNull())
    .addColumn('last_seq', 'bigint', (column) => column.notNull())
    .addColumn('closed', 'integer', (column) => column.notNull())
    .addUniqueConstraint('troupe_run_logs_name', ['thread', 'run_id'])
    .execute()

  await schema
    .createTable('troupe_run_events')
    .addColumn('log', 'bigint', (column) => column.notNull().references('troupe_run_logs.id').onDelete('cascade'))
    .addColumn('first_seq', 'bigint', (column) => column.notNull())
    .addColumn('last_seq', 'bigint', (column) => column.notNull())
    .addColumn('events', 'text', (column) => column.notNull())
    .addPrimaryKeyConstraint('troupe_run_events_seq', ['log', 'first_seq'])
    .execute()

  await keyed('troupe_leases', 'token')
    .addColumn('owner', 'bigint', (column) => column.notNull().references('troupe_owners.id'))
    .addColumn('thread_id', 'text', (column) => column.notNull())
    .addColumn('run_id', 'text', (column) => column.notNull())
    .addColumn('expires_at', 'double precision', (column) => column.notNull())
    .addColumn('cancel', 'text')
    .addUniqueConstraint('troupe_leases_thread', ['owner', 'thread_id'])
    .execute()
}

/** Journals of unfinished runs, and how often a tool call was tried. */
async function second({ schema }: Kysely<Tables>, flavour: Flavour): Promise<void> {
  await schema.alterTable('troupe_threads').addColumn('unfinished', 'text').execute()
  await schema
    .createIndex('troupe_threads_unfinished')
    .on('troupe_threads')
    .column('id')
    .where(sql.ref('unfinished'), 'is not', null)
    .execute()

  const journal = schema
    .createTable('troupe_journal')
    .addColumn('thread', 'bigint', (column) => column.notNull().references('troupe_threads.id').onDelete('cascade'))
    .addColumn('at', 'double precision', (column) => column.notNull())
    .addColumn('entries', 'text', (column) => column.notNull())
  if (flavour === 'sqlite') {
    await journal.addColumn('id', 'integer', (column) => column.primaryKey()).execute()
    await schema.createIndex('troupe_journal_thread').on('troupe_journal').column('thread').execute()
  } else {
    await journal
      .addColumn('id', 'bigint', (column) => column.notNull().generatedByDefaultAsIdentity())
      .addPrimaryKeyConstraint('troupe_journal_thread', ['thread', 'id'])
      .execute()
  }

  await schema.alterTable('troupe_tool_calls').addColumn('attempts', 'double precision').execute()
}

/** The cancel of a run outlives its process, and an attempt to carry it out that was replaced cannot write its records. */
async function third({ schema }: Kysely<Tables>): Promise<void> {
  await schema.alterTable('troupe_threads').addColumn('unfinished_cancel', 'text').execute()
  await schema.alterTable('troupe_runs').addColumn('attempt', 'bigint').execute()
}

/** Branches: the parts that threads share, and how the state came about. The state that a thread has counts from its beginning on. */
async function fourth(db: Kysely<Tables>): Promise<void> {
  const { schema } = db
  for (const column of ['base', 'forked_from', 'forked_at']) {
    await schema.alterTable('troupe_threads').addColumn(column, 'text').execute()
  }
  await db
    .updateTable('troupe_threads')
    .set(({ ref }) => ({ base: ref('state') }))
    .where('state', '<>', '{}')
    .execute()

  await schema
    .createTable('troupe_segments')
    .addColumn('thread', 'bigint', (column) => column.notNull().references('troupe_threads.id').onDelete('cascade'))
    .addColumn('upto', 'bigint', (column) => column.notNull())
    .addColumn('source', 'bigint', (column) => column.notNull())
    .addColumn('after', 'bigint', (column) => column.notNull())
    .addPrimaryKeyConstraint('troupe_segments_end', ['thread', 'upto'])
    .execute()
  await schema.createIndex('troupe_segments_source').on('troupe_segments').columns(['source', 'upto']).execute()
  await db
    .insertInto('troupe_segments')
    .columns(['thread', 'upto', 'source', 'after'])
    .expression(({ selectFrom, lit }) =>
      selectFrom('troupe_threads').select(['id', lit(OPEN_END).as('upto'), 'id as source', lit(0).as('after')]),
    )
    .execute()

  await schema
    .createTable('troupe_changes')
    .addColumn('thread', 'bigint', (column) => column.notNull().references('troupe_threads.id').onDelete('cascade'))
    .addColumn('name', 'text', (column) => column.notNull())
    .addColumn('seq', 'bigint', (column) => column.notNull())
    .addColumn('entry', 'text', (column) => column.notNull())
    .addPrimaryKeyConstraint('troupe_changes_name', ['thread', 'name', 'seq'])
    .execute()

  await schema
    .alterTable('troupe_processed')
    .addColumn('seq', 'bigint', (column) => column.notNull().defaultTo(0))
    .execute()
  await schema.createIndex('troupe_processed_seq').on('troupe_processed').columns(['thread', 'seq']).execute()
}

/** The ids of runs by owner, so that none is used in two threads; those of former runs are taken from their messages and records. */
async function fifth(db: Kysely<Tables>): Promise<void> {
  const { schema } = db
  await schema
    .createTable('troupe_run_ids')
    .addColumn('owner', 'bigint', (column) => column.notNull().references('troupe_owners.id'))
    .addColumn('run_id', 'text', (column) => column.notNull())
    .addColumn('thread_id', 'text', (column) => column.notNull())
    .addPrimaryKeyConstraint('troupe_run_ids_name', ['owner', 'run_id'])
    .execute()
  await schema.createIndex('troupe_run_ids_thread').on('troupe_run_ids').columns(['owner', 'thread_id']).execute()
  await db
    .insertInto('troupe_run_ids')
    .columns(['owner', 'run_id', 'thread_id'])
    .expression(({ selectFrom }) =>
      selectFrom(
        selectFrom('troupe_messages as m')
          .innerJoin('troupe_threads as t', 't.id', 'm.thread')
          .select(['t.owner', 'm.run_id', 't.thread_id'])
          .union(
            selectFrom('troupe_runs as r')
              .innerJoin('troupe_threads as t', 't.id', 'r.thread')
              .where('r.parent_run_id', 'is', null)
              .select(['t.owner', 'r.run_id', 't.thread_id']),
          )
          .as('used'),
      )
        .select(['used.owner', 'used.run_id'])
        .select(({ fn }) => fn.min('used.thread_id').as('thread_id'))
        .groupBy(['used.owner', 'used.run_id']),
    )
    .execute()
}

/** Whether a thread waits for a client, so that lists read neither open calls nor checkpoints. */
async function sixth(db: Kysely<Tables>, flavour: Flavour): Promise<void> {
  const add = (column: ColumnDefinitionBuilder) => column.notNull().defaultTo(0)
  await db.schema.alterTable('troupe_threads').addColumn('waiting', 'integer', add).execute()
  const checkpoint = sql.ref('checkpoint')
  const resumedBy =
    flavour === 'sqlite'
      ? sql`json_extract(${checkpoint}, '$.resumedBy')`
      : sql`cast(${checkpoint} as json) -> 'resumedBy'`
  await db
    .updateTable('troupe_threads')
    .set({ waiting: 1 })
    .where(({ eb, or, and }) =>
      or([eb('open_calls', '<>', '[]'), and([eb('checkpoint', 'is not', null), eb(resumedBy, 'is', null)])]),
    )
    .execute()
}

/** Logs are compacted, and deleted by their age; a former one is as old as the last change of its thread. */
async function seventh(db: Kysely<Tables>): Promise<void> {
  const { schema } = db
  const add = (column: ColumnDefinitionBuilder) => column.notNull().defaultTo(0)
  await schema.alterTable('troupe_run_logs').addColumn('compacted', 'integer', add).execute()
  await schema.alterTable('troupe_run_logs').addColumn('at', 'double precision', add).execute()
  await db
    .updateTable('troupe_run_logs')
    .set(({ selectFrom }) => ({
      at: selectFrom('troupe_threads as t').whereRef('t.id', '=', 'troupe_run_logs.thread').select('t.updated_at'),
    }))
    .execute()
  await schema.createIndex('troupe_run_logs_at').on('troupe_run_logs').columns(['at', 'id']).execute()
}

/** Permissions that outlive their process, and run ids that are not those of nested runs. */
async function eighth(db: Kysely<Tables>, flavour: Flavour): Promise<void> {
  const { schema } = db
  const table = schema.createTable('troupe_grants')
  const keyed =
    flavour === 'sqlite'
      ? table.addColumn('id', 'integer', (column) => column.primaryKey().autoIncrement())
      : table.addColumn('id', 'bigint', (column) => column.primaryKey().generatedByDefaultAsIdentity())
  await keyed
    .addColumn('owner', 'bigint', (column) => column.notNull().references('troupe_owners.id'))
    .addColumn('thread', 'bigint', (column) => column.references('troupe_threads.id').onDelete('cascade'))
    .addColumn('agent', 'text', (column) => column.notNull())
    .addColumn('tool', 'text', (column) => column.notNull())
    .addColumn('rule', 'text')
    .addColumn('at', 'double precision', (column) => column.notNull())
    .execute()
  await schema.createIndex('troupe_grants_owner').on('troupe_grants').columns(['owner', 'id']).execute()
  await schema.createIndex('troupe_grants_thread').on('troupe_grants').column('thread').execute()

  // SQLite compares texts by their bytes.
  if (flavour === 'postgres') {
    const byBytes = sql`${sql.ref('owner')}, ${sql.ref('run_id')} collate "C"`
    await schema.createIndex('troupe_run_ids_bytes').on('troupe_run_ids').expression(byBytes).execute()
  }
  const id = sql.ref('run_id')
  const rest = sql`substr(${id}, 2)`
  const slash = flavour === 'sqlite' ? sql<number>`instr(${rest}, '/')` : sql<number>`strpos(${rest}, '/')`
  await db
    .insertInto('troupe_run_ids')
    .columns(['owner', 'run_id', 'thread_id'])
    .expression(({ selectFrom }) =>
      selectFrom('troupe_run_ids')
        .distinct()
        .select(['owner', sql<string>`substr(${id}, 1, ${slash})`.as('above'), sql<string>`''`.as('none')])
        .where(slash, '>', 0)
        .where('run_id', 'not like', '\u0001%'),
    )
    .onConflict((conflict) => conflict.columns(['owner', 'run_id']).doNothing())
    .execute()
}

/** Which lease was released with a commit, so that the commit can be repeated. */
async function ninth({ schema }: Kysely<Tables>): Promise<void> {
  await schema.alterTable('troupe_threads').addColumn('released', 'bigint').execute()
}

/** Records are deleted by their age; threads have titles and are listed by their last change. */
async function tenth({ schema }: Kysely<Tables>): Promise<void> {
  await schema
    .createIndex('troupe_runs_ended')
    .on('troupe_runs')
    .columns(['ended_at', 'thread', 'seq'])
    .where(sql.ref('ended_at'), 'is not', null)
    .execute()
  await schema.alterTable('troupe_threads').addColumn('title', 'text').execute()
  await schema.alterTable('troupe_threads').addColumn('metadata', 'text').execute()
  await schema
    .createIndex('troupe_threads_recent')
    .on('troupe_threads')
    .columns(['owner', 'updated_at', 'seq'])
    .execute()
}

/** The tokens that a model call put into the cache of its provider. */
async function eleventh({ schema }: Kysely<Tables>): Promise<void> {
  await schema.alterTable('troupe_usage').addColumn('cache_write_tokens', 'double precision').execute()
}
