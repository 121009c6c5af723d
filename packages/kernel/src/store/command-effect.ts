import type { RecordCommand, RunRecord, ToolCallRecord } from './store.ts'

/** What a store has about a command. */
interface Stored {
  /** The run of the command, or that another thread of the owner has it. */
  readonly run: (Pick<RunRecord, 'status'> & { readonly text: Pick<string, 'length'> }) | 'elsewhere' | undefined
  /** The call of a `tool-call`. */
  readonly call?: Pick<ToolCallRecord, 'runId' | 'status'> | undefined
  /** The run that the thread names as unfinished. */
  readonly unfinished?: string | undefined
  /** The highest attempt that has begun the root run of the command. */
  readonly attempt?: number | undefined
  /** Whether the span of a `usage` was written before. */
  readonly hasSpan?: boolean
}

/**
 * Decides what a store does with a record command: it writes it, ignores it because it was written before, or refuses it.
 * @example commandEffect({ type: 'run-text', runId: 'r', offset: 0, text: 'Hi' }, { run: { status: 'complete', text: '' } }) // 'refuse'
 */
export function commandEffect(command: RecordCommand, stored: Stored): 'write' | 'ignore' | 'refuse' {
  const { run, call, hasSpan, unfinished, attempt = Number.NEGATIVE_INFINITY } = stored
  if (run === 'elsewhere' || (command.by && command.by.attempt < attempt)) return 'refuse'
  if (command.type === 'run-start') return !run || isReopened(run, command.run.runId, unfinished) ? 'write' : 'ignore'
  if (!run || !isAllowed(command, run, call)) return 'refuse'
  return command.type === 'usage' && hasSpan ? 'ignore' : 'write'
}

/** Whether a run begins again that ended without its thread: its end could not be stored, and it is continued. */
function isReopened({ status }: Pick<RunRecord, 'status'>, runId: string, unfinished: string | undefined): boolean {
  return runId === unfinished && (status === 'failed' || status === 'cancelled')
}

function isAllowed(
  command: Exclude<RecordCommand, { readonly type: 'run-start' }>,
  run: Exclude<Stored['run'], 'elsewhere' | undefined>,
  call: Stored['call'],
): boolean {
  const generating = run.status === 'generating'
  if (command.type === 'tool-call') return (generating ? mayChange : mayChangeLate)(call, command.call)
  return generating && (command.type !== 'run-text' || command.offset <= run.text.length)
}

const SETTLED: readonly string[] = ['complete', 'failed', 'unknown']
const PARKED: readonly string[] = ['awaiting', 'interrupted']

/** While its run goes on, a call takes any status, but a settled one stays settled. */
function mayChange(before: Stored['call'], after: ToolCallRecord): boolean {
  return !before || SETTLED.includes(after.status) || !SETTLED.includes(before.status)
}

/** Once its run has ended, a parked call may be settled and a running one may become `unknown`; there is no new call. */
function mayChangeLate(before: Stored['call'], after: ToolCallRecord): boolean {
  if (before?.runId !== after.runId || !SETTLED.includes(after.status)) return false
  return PARKED.includes(before.status) || (before.status === 'running' && after.status === 'unknown')
}
