import type { RecordCommand, RecordStore, RunRecord, ToolCallRecord } from '@troupe/kernel'
import { commandEffect, runIdOf } from '@troupe/kernel/store'

type Command<Type extends RecordCommand['type']> = Extract<RecordCommand, { readonly type: Type }>
type Result = Awaited<ReturnType<RecordStore['apply']>>[number]

/** What a batch of commands reads and changes. Contract: `loadBatch` reads what was stored before, `applyCommands` does the rest. */
export interface Batch {
  /** The last sequences given. */
  runSeq: number
  callSeq: number
  /** The run that the thread names as unfinished. */
  readonly unfinished: string | undefined
  /** By run id: all runs of the owner that the commands are about. */
  readonly runs: Map<string, RunState>
  /** By call id; `call` is there once it was written. */
  readonly calls: Map<string, Pick<ToolCallRecord, 'runId' | 'status'> & { seq: number; call?: ToolCallRecord }>
  /** By span id; those that were stored before win in the insert. */
  readonly usage: Map<string, Command<'usage'>>
}

/** A run in a batch. */
export interface RunState {
  readonly seq: number
  status: RunRecord['status']
  /** The highest attempt that has begun it, if it is a root run. */
  attempt: number | null
  /** Whether another thread has it. */
  readonly elsewhere: boolean
  /** Units of text that were stored before, how many of them stay, and what follows. */
  readonly stored: number
  keep: number
  tail: string
  changed?: boolean
  /** Of a run that is new. */
  readonly start?: Command<'run-start'>['run']
  finish?: Command<'run-finish'> | undefined
}

/** Applies commands to a batch in order, and returns the outcome of each. */
export function applyCommands(batch: Batch, commands: readonly RecordCommand[]): Result[] {
  return commands.map((command) => applyOne(batch, runIdOf(command), command))
}

function applyOne(batch: Batch, runId: string, command: RecordCommand): Result {
  const run = batch.runs.get(runId)
  const effect = commandEffect(command, {
    run: run && (run.elsewhere ? 'elsewhere' : { status: run.status, text: { length: run.keep + run.tail.length } }),
    call: command.type === 'tool-call' ? batch.calls.get(command.call.callId) : undefined,
    hasSpan: command.type === 'usage' && batch.usage.has(command.spanId),
    unfinished: batch.unfinished,
    attempt: (command.by && batch.runs.get(command.by.runId)?.attempt) ?? undefined,
  })
  if (effect === 'refuse') return { runId, refused: true }
  if (command.type === 'run-start') {
    if (run && effect === 'write') reopen(run)
    const seq = run?.seq ?? addRun(batch, command.run)
    if (command.by?.runId === runId) beginAttempt(batch.runs.get(runId) as RunState, command.by.attempt)
    return { runId, seq }
  }
  if (effect === 'write') write(batch, run as RunState, command)
  return { runId }
}

function addRun(batch: Batch, start: Command<'run-start'>['run']): number {
  const seq = ++batch.runSeq
  const fresh = { attempt: null, elsewhere: false, stored: 0, keep: 0, tail: '' }
  batch.runs.set(start.runId, { seq, status: 'generating', ...fresh, start })
  return seq
}

/** Notes the attempt that begins a run. */
function beginAttempt(run: RunState, attempt: number): void {
  if (run.attempt === attempt) return
  run.attempt = attempt
  run.changed = true
}

/** Opens the record of a run that is continued. */
function reopen(run: RunState): void {
  run.status = 'generating'
  run.finish = undefined
  run.changed = true
}

function write(batch: Batch, run: RunState, command: Exclude<RecordCommand, Command<'run-start'>>): void {
  switch (command.type) {
    case 'run-text':
      writeText(run, command)
      return
    case 'run-finish':
      run.status = command.status
      run.finish = command
      run.changed = true
      return
    case 'tool-call':
      writeCall(batch, command.call)
      return
    case 'usage':
      batch.usage.set(command.spanId, command)
  }
}

function writeText(run: RunState, { offset, text }: Command<'run-text'>): void {
  run.tail = offset < run.keep ? text : run.tail.slice(0, offset - run.keep) + text
  run.keep = Math.min(run.keep, offset)
  run.changed = true
}

function writeCall(batch: Batch, call: ToolCallRecord): void {
  const { callId, runId, status } = call
  const seq = batch.calls.get(callId)?.seq ?? ++batch.callSeq
  batch.calls.set(callId, { seq, runId, status, call })
}
