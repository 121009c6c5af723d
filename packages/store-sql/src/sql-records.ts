import type { ModelCallRecord, RecordStore, RunRecord, ToolCallRecord, Usage } from '@troupe/kernel'
import { NO_USAGE } from '@troupe/kernel/kit'
import { checkId, checkMaintenance, checkPage } from '@troupe/kernel/store'
import { type Selectable, sql } from 'kysely'
import type { WriteBatch } from './batch-saver.ts'
import { fromColumn, fromJson, toColumn } from './column-text.ts'
import type { Queries } from './engine.ts'
import type { SqlDatabase } from './open-database.ts'
import { recordApply } from './record-apply.ts'
import { recordPrune } from './record-prune.ts'
import { threadOf } from './rows.ts'
import type { Tables } from './schema.ts'
import { statements } from './statements.ts'
import { threadKey } from './thread-key.ts'

/** Runs, tool calls and usage in SQL. */
export function sqlRecords(database: SqlDatabase, writeAtOnce?: WriteBatch): Required<RecordStore> {
  const { who, query } = database
  return {
    apply: recordApply(database, writeAtOnce),
    prune: recordPrune(database),

    async runs(ref, page) {
      const key = threadKey(who, ref)
      const { after, limit, newestFirst } = checkPage(who, page)
      return query(async (db) => {
        const rows = await threadOf(db, key)
          .innerJoin('troupe_runs as r', 'r.thread', 't.id')
          .where('r.seq', newestFirst ? '<' : '>', after)
          .selectAll('r')
          .orderBy('r.seq', newestFirst ? 'desc' : 'asc')
          .limit(limit)
          .execute()
        return withTexts(db, rows)
      })
    },

    async toolCalls(ref, runId) {
      const key = threadKey(who, ref)
      checkId(who, 'runId', runId)
      const run = toColumn(runId)
      const rows = await query((db) =>
        threadOf(db, key)
          .innerJoin('troupe_tool_calls as c', 'c.thread', 't.id')
          .where('c.run_id', '=', run)
          .selectAll('c')
          .orderBy('c.seq')
          .execute(),
      )
      return rows.map(callOf)
    },

    async modelCalls(ref, runId) {
      const key = threadKey(who, ref)
      checkId(who, 'runId', runId)
      const run = toColumn(runId)
      const rows = await query((db) =>
        threadOf(db, key)
          .innerJoin('troupe_usage as u', 'u.thread', 't.id')
          .where('u.run_id', '=', run)
          .selectAll('u')
          .orderBy('u.id')
          .execute(),
      )
      return rows.map(modelCallOf)
    },

    async usage(ref) {
      const key = threadKey(who, ref)
      const sums = await query((db) =>
        threadOf(db, key)
          .innerJoin('troupe_usage as u', 'u.thread', 't.id')
          .select(({ fn }) => [
            fn.sum<number | null>('u.input_tokens').as('input'),
            fn.sum<number | null>('u.output_tokens').as('output'),
            fn.sum<number | null>('u.reasoning_tokens').as('reasoning'),
            fn.sum<number | null>('u.cached_input_tokens').as('cached'),
            fn.sum<number | null>('u.cache_write_tokens').as('written'),
            fn.sum<number | null>('u.cost').as('cost'),
          ])
          .executeTakeFirstOrThrow(),
      )
      const usage: Usage = {
        ...NO_USAGE,
        ...(sums.input !== null && { inputTokens: sums.input }),
        ...(sums.output !== null && { outputTokens: sums.output }),
        ...(sums.reasoning !== null && { reasoningTokens: sums.reasoning }),
        ...(sums.cached !== null && { cachedInputTokens: sums.cached }),
        ...(sums.written !== null && { cacheWriteTokens: sums.written }),
        ...(sums.cost !== null && { cost: sums.cost }),
      }
      return usage
    },

    async open(wanted) {
      checkMaintenance(who, wanted)
      const { before, limit } = wanted
      return query(async (db) => {
        const rows = await db
          .selectFrom('troupe_runs as r')
          .innerJoin('troupe_threads as t', 't.id', 'r.thread')
          .innerJoin('troupe_owners as o', 'o.id', 't.owner')
          // A literal, so that SQLite sees that the index of open runs fits.
          .where('r.status', '=', sql.lit('generating'))
          .where('r.started_at', '<', before)
          .selectAll('r')
          .select(['o.app', 'o.user_id', 't.thread_id'])
          .orderBy('r.started_at')
          .orderBy('r.thread')
          .orderBy('r.seq')
          .limit(limit)
          .execute()
        const runs = await withTexts(db, rows)
        return rows.map(({ app, user_id, thread_id }, i) => ({
          ...(runs[i] as RunRecord),
          ref: { app: fromColumn(app), user: fromColumn(user_id), threadId: fromColumn(thread_id) },
        }))
      })
    },
  }
}

function callOf(row: Tables['troupe_tool_calls']): ToolCallRecord {
  return {
    callId: fromColumn(row.call_id),
    runId: fromColumn(row.run_id),
    messageId: fromColumn(row.message_id),
    name: fromColumn(row.name),
    arguments: fromColumn(row.arguments),
    status: row.status,
    ...(row.result !== null && { result: fromJson(row.result) }),
    ...(row.attempts !== null && { attempts: row.attempts }),
    startedAt: row.started_at,
    ...(row.ended_at !== null && { endedAt: row.ended_at }),
  }
}

function modelCallOf(row: Selectable<Tables['troupe_usage']>): ModelCallRecord {
  return {
    spanId: fromColumn(row.span_id),
    runId: fromColumn(row.run_id),
    model: fromColumn(row.model),
    usage: {
      inputTokens: row.input_tokens,
      outputTokens: row.output_tokens,
      ...(row.reasoning_tokens !== null && { reasoningTokens: row.reasoning_tokens }),
      ...(row.cached_input_tokens !== null && { cachedInputTokens: row.cached_input_tokens }),
      ...(row.cache_write_tokens !== null && { cacheWriteTokens: row.cache_write_tokens }),
      ...(row.cost !== null && { cost: row.cost }),
    },
    ...(row.finish_reason !== null && {
      finishReason: fromColumn(row.finish_reason) as NonNullable<ModelCallRecord['finishReason']>,
    }),
    ...(row.message_id !== null && { messageId: fromColumn(row.message_id) }),
    ...(row.request_id !== null && { requestId: fromColumn(row.request_id) }),
  }
}

/** Runs with their texts. */
async function withTexts(db: Queries, rows: readonly Tables['troupe_runs'][]): Promise<RunRecord[]> {
  const texts = new Map<string, string>()
  const byThread = Map.groupBy(
    rows.filter(({ text_length }) => text_length > 0),
    ({ thread }) => thread,
  )
  for (const [thread, runs] of byThread) {
    for (const some of statements(runs.map(({ seq }) => seq))) {
      const pieces = await db
        .selectFrom('troupe_run_texts')
        .select(['run_seq', 'text'])
        .where('thread', '=', thread)
        .where('run_seq', 'in', some)
        .orderBy('run_seq')
        .orderBy('start')
        .execute()
      for (const { run_seq, text } of pieces) {
        const key = `${thread}/${run_seq}`
        texts.set(key, (texts.get(key) ?? '') + fromColumn(text))
      }
    }
  }
  return rows.map((row) => ({
    runId: fromColumn(row.run_id),
    ...(row.parent_run_id !== null && { parentRunId: fromColumn(row.parent_run_id) }),
    agentName: fromColumn(row.agent_name),
    seq: row.seq,
    status: row.status,
    text: texts.get(`${row.thread}/${row.seq}`) ?? '',
    ...(row.usage !== null && { usage: fromJson<Usage>(row.usage) }),
    ...(row.error !== null && { error: fromJson<NonNullable<RunRecord['error']>>(row.error) }),
    startedAt: row.started_at,
    ...(row.ended_at !== null && { endedAt: row.ended_at }),
  }))
}
