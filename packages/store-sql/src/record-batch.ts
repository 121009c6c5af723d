import type { RecordCommand, RecordStore, RunRecord, ToolCallRecord } from '@troupe/kernel'
import { subjectOf } from './checks.ts'

type Command<Type extends RecordCommand['type']> = Extract<RecordCommand, { readonly type: Type }>
type Result = Awaited<ReturnType<RecordStore['apply']>>[number]

/** What a batch of commands reads and changes. Contract: what was stored before is loaded, `playCommands` does the rest. */
export interface Batch {
  /** The last sequences given. */
  runSeq: number
  callSeq: number
  /** By run id: all runs of the owner that the commands are about. */
  readonly runs: Map<string, RunState>
  /** By call id. */
  readonly calls: Map<string, CallState>
  /** By span id; those that were stored before win in the insert. */
  readonly usage: Map<string, Command<'usage'>>
}

/** A run in a batch. */
export interface RunState {
  readonly seq: number
  status: RunRecord['status']
  /** Of another thread. */
  readonly foreign: boolean
  /** Units of text that were stored before, how many of them stay, and what follows. */
  readonly stored: number
  keep: number
  tail: string
  changed?: boolean
  /** Of a run that is new. */
  readonly start?: Command<'run-start'>['run']
  finish?: Command<'run-finish'>
}

/** A tool call in a batch; `call` is there once it was written. */
export interface CallState {
  readonly seq: number
  readonly runId: string
  readonly status: ToolCallRecord['status']
  readonly call?: ToolCallRecord
}

/** Plays commands in order and tells what became of each. */
export function playCommands(batch: Batch, commands: readonly RecordCommand[]): Result[] {
  return commands.map((command) => {
    const runId = subjectOf(command)
    const result = command.type === 'run-start' ? startRun(batch, command) : change(batch, runId, command)
    return result ? { runId, ...result } : { runId, refused: true }
  })
}

/** What the result says beyond the run; undefined if the command is refused. */
type Accepted = { readonly seq?: number } | undefined

function startRun(batch: Batch, { run: start }: Command<'run-start'>): Accepted {
  const run = batch.runs.get(start.runId)
  if (run) return run.foreign ? undefined : { seq: run.seq }
  const seq = ++batch.runSeq
  const fresh = { seq, status: 'generating', foreign: false, stored: 0, keep: 0, tail: '', start } as const
  batch.runs.set(start.runId, { ...fresh })
  return { seq }
}

function change(batch: Batch, runId: string, command: Exclude<RecordCommand, Command<'run-start'>>): Accepted {
  const run = batch.runs.get(runId)
  if (!run || run.foreign) return undefined
  const generating = run.status === 'generating'
  if (command.type === 'tool-call') return writeCall(batch, command.call, generating)
  if (!generating) return undefined
  if (command.type === 'usage') {
    if (!batch.usage.has(command.spanId)) batch.usage.set(command.spanId, command)
    return {}
  }
  if (command.type === 'run-text') {
    const { offset, text } = command
    if (offset > run.keep + run.tail.length) return undefined
    run.tail = offset < run.keep ? text : run.tail.slice(0, offset - run.keep) + text
    run.keep = Math.min(run.keep, offset)
  } else {
    run.status = command.status
    run.finish = command
  }
  run.changed = true
  return {}
}

function writeCall(batch: Batch, call: ToolCallRecord, generating: boolean): Accepted {
  const before = batch.calls.get(call.callId)
  if (!mayBecome(before, call, generating)) return undefined
  const { callId, runId, status } = call
  batch.calls.set(callId, { seq: before?.seq ?? ++batch.callSeq, runId, status, call })
  return {}
}

const SETTLED: readonly string[] = ['complete', 'failed', 'unknown']
const PARKED: readonly string[] = ['awaiting', 'interrupted']

/** Whether a call may change. A finished run settles what it has parked itself, or says that an outcome is unknown; nothing else. */
function mayBecome(
  before: Pick<ToolCallRecord, 'runId' | 'status'> | undefined,
  after: ToolCallRecord,
  generating: boolean,
) {
  const settles = SETTLED.includes(after.status)
  if (generating) return settles || !before || !SETTLED.includes(before.status)
  if (before?.runId !== after.runId || !settles) return false
  return PARKED.includes(before.status) || (before.status === 'running' && after.status === 'unknown')
}
