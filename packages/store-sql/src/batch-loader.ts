import type { RecordCommand } from '@troupe/kernel'
import { runIdOf } from '@troupe/kernel/store'
import type { Batch } from './apply-commands.ts'
import { fromColumn, toColumn } from './column-text.ts'
import { compiled, type Slots } from './compiled.ts'
import type { Queries } from './engine.ts'
import type { ThreadCounters } from './rows.ts'
import { statements } from './statements.ts'

type Load = (tx: Queries, thread: ThreadCounters, commands: readonly RecordCommand[]) => Promise<Batch>

/** Makes the function that reads what commands are about. */
export function batchLoader(): Load {
  const findRuns = compiled((db, { owner, ids }: Slots<{ owner: number; ids: readonly string[] }>) =>
    db
      .selectFrom('troupe_runs')
      .select(['thread', 'run_id', 'seq', 'status', 'attempt', 'text_length'])
      .where('owner', '=', owner)
      .where('run_id', 'in', ids),
  )
  const findCalls = compiled((db, { thread, ids }: Slots<{ thread: number; ids: readonly string[] }>) =>
    db
      .selectFrom('troupe_tool_calls')
      .select(['call_id', 'run_id', 'seq', 'status'])
      .where('thread', '=', thread)
      .where('call_id', 'in', ids),
  )
  return async (tx, { id, owner, run_seq, call_seq, unfinished }, commands) => {
    const batch: Batch = {
      runSeq: run_seq,
      callSeq: call_seq,
      unfinished: unfinished === null ? undefined : fromColumn(unfinished),
      runs: new Map(),
      calls: new Map(),
      usage: new Map(),
    }
    for (const ids of statements([...new Set(commands.flatMap(runsOf).map(toColumn))])) {
      for (const { thread, run_id, seq, status, attempt, text_length } of await findRuns(tx, { owner, ids })) {
        const [elsewhere, stored, keep] = [thread !== id, text_length, text_length]
        batch.runs.set(fromColumn(run_id), { seq, status, attempt, elsewhere, stored, keep, tail: '' })
      }
    }
    const callIds = commands.flatMap((command) => (command.type === 'tool-call' ? [toColumn(command.call.callId)] : []))
    for (const ids of statements([...new Set(callIds)])) {
      for (const { call_id, run_id, seq, status } of await findCalls(tx, { thread: id, ids })) {
        batch.calls.set(fromColumn(call_id), { seq, runId: fromColumn(run_id), status })
      }
    }
    return batch
  }
}

/** The run of a command, and its root run. */
function runsOf(command: RecordCommand): readonly string[] {
  const runId = runIdOf(command)
  return command.by === undefined || command.by.runId === runId ? [runId] : [runId, command.by.runId]
}
