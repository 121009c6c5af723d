import type { RunRecord, ToolCallRecord } from '@troupe/kernel'
import type { Generated } from 'kysely'

/**
 * The tables. Texts of callers are stored as `toColumn` writes them, JSON as text, timestamps and token counts as doubles, because they
 * are JavaScript numbers.
 */
export interface Tables {
  /** One row: the number of migrations that were applied. */
  troupe_schema: { readonly version: number }
  troupe_owners: {
    id: Generated<number>
    app: string
    user_id: string
    thread_seq: number
    /** The last sequence given to a fact. */
    fact_seq: Generated<number>
  }
  troupe_threads: {
    id: Generated<number>
    owner: number
    thread_id: string
    seq: number
    version: number
    state: string
    open_calls: string
    checkpoint: string | null
    /** 1 if `isWaiting` says so of the two above, for lists that do not read them. */
    waiting: number
    /** The run whose steps are in the journal, and the cancel that was asked of it. */
    unfinished: string | null
    unfinished_cancel: string | null
    /** The token of the last lease that a commit has released. */
    released: number | null
    /** The last sequences given to messages, runs and tool calls. */
    message_seq: number
    run_seq: number
    call_seq: number
    updated_at: number
    /** The state before the first change that is kept; null if it is empty. */
    base: string | null
    /** Of a branch: the id of the thread it was made of, and that of the last message it shares. */
    forked_from: string | null
    forked_at: string | null
    title: string | null
    metadata: string | null
  }
  /**
   * The parts that the messages of a thread are made of: those of `source` after `after` and up to `upto`; the last part is its own.
   * Contract: a thread shares a part with its branches. Everything that `source` has up to there is on the way of the thread too.
   */
  troupe_segments: { thread: number; upto: number; source: number; after: number }
  troupe_messages: { thread: number; seq: number; message_id: string; run_id: string; message: string }
  /** The keys of the state that a message has changed, in the order of `seq`; `entry` is `[key, value]`, or `[key]` if it was removed. */
  troupe_changes: { thread: number; name: string; seq: number; entry: string }
  /** Foreign ids, each with the message that it counts for. */
  troupe_processed: { thread: number; foreign_id: string; seq: number }
  troupe_runs: {
    thread: number
    seq: number
    owner: number
    run_id: string
    parent_run_id: string | null
    agent_name: string
    status: RunRecord['status']
    /** The highest attempt that has begun it, if it is a root run. */
    attempt: number | null
    /** In UTF-16 units. */
    text_length: number
    usage: string | null
    error: string | null
    started_at: number
    ended_at: number | null
  }
  /** The text of a run in pieces, so that appending costs only the new text. */
  troupe_run_texts: { thread: number; run_seq: number; start: number; text: string }
  troupe_tool_calls: {
    thread: number
    call_id: string
    seq: number
    run_id: string
    message_id: string
    name: string
    arguments: string
    status: ToolCallRecord['status']
    result: string | null
    attempts: number | null
    started_at: number
    ended_at: number | null
  }
  troupe_usage: {
    /** Increases, so it is also the order. */
    id: Generated<number>
    thread: number
    span_id: string
    run_id: string
    model: string
    input_tokens: number
    output_tokens: number
    reasoning_tokens: number | null
    cached_input_tokens: number | null
    cache_write_tokens: number | null
    cost: number | null
    finish_reason: string | null
    message_id: string | null
    request_id: string | null
  }
  troupe_run_logs: {
    id: Generated<number>
    thread: number
    run_id: string
    last_seq: number
    closed: number
    /** 1 if its rows are those of `compactRows`. */
    compacted: Generated<number>
    /** When it was begun or closed. Contract: does not change in between, because it is in an index. */
    at: number
  }
  /** Events of a log, several to a row; see `run-log-rows.ts`. */
  troupe_run_events: { log: number; first_seq: number; last_seq: number; events: string }
  /** The journal of each thread's unfinished run, a row for each write; `id` increases, so it is also the order. */
  troupe_journal: { id: Generated<number>; thread: number; at: number; entries: string }
  /** The thread of each run that has begun; empty for an id that only runs below it have. */
  troupe_run_ids: { owner: number; run_id: string; thread_id: string }
  /** Permissions; those without a thread hold in all threads of the owner. `id` increases, so it is also the order. */
  troupe_grants: {
    id: Generated<number>
    owner: number
    thread: number | null
    agent: string
    tool: string
    rule: string | null
    at: number
  }
  /** Numbers that are counted by name. */
  troupe_counters: { owner: number; name: string; value: number; expires_at: number }
  /** What is remembered about an owner; see `fact-index.ts` for its words. */
  troupe_facts: {
    id: Generated<number>
    owner: number
    seq: number
    text: string
    at: number
    /** Floats of four bytes, in base64. */
    embedding: string | null
    /** PostgreSQL only. */
    terms: Generated<string | null>
  }
  /** Large texts, each with the sequence of the last message that was there before it; the last one of an id counts, but a branch may share an earlier one. */
  troupe_blobs: { thread: number; blob_id: string; seq: number; text: string }
  /** Contract: a new lease is a new row, so its key is a token that no other lease ever had. */
  troupe_leases: {
    token: Generated<number>
    owner: number
    thread_id: string
    run_id: string
    expires_at: number
    cancel: string | null
  }
}

/** The SQL flavour of a database. */
export type Flavour = 'sqlite' | 'postgres'
