import type { ErrorInfo, Message, Outcome, RecordCommand } from '@troupe/kernel'

/** What a caller of the runner sees and tells, line by line. */
export type Line =
  /** A run is asked for. */
  | { readonly type: 'began'; readonly runId: string; readonly what: string }
  /** A message of a run that goes on: nothing to rely on yet. */
  | { readonly type: 'said'; readonly runId: string; readonly message: Message }
  /** Acknowledged: a question was shown. */
  | Acknowledged<'asked'>
  /** Acknowledged, unless it failed: a run has ended. */
  | (Acknowledged<'ended'> & {
      readonly outcome: Outcome
      readonly text: string
      readonly openCallIds: readonly string[]
      readonly error?: ErrorInfo
    })
  /** A run never began. */
  | { readonly type: 'refused'; readonly runId: string; readonly code: string }
  /** The process is about to be hit. */
  | { readonly type: 'hit'; readonly at: string }
  /** What became of a write after the process was stopped and went on. */
  | Wrote
  /** Everything was done; how much that took. */
  | { readonly type: 'done'; readonly calls: number; readonly statements: number; readonly ms: number }

/** One write: of a commit, an append or a renewal, or one command for the records of a run. */
export interface Wrote {
  readonly type: 'wrote'
  readonly call: string
  /** `accepted`, `refused`, or the code of an error. */
  readonly how: string
  readonly command?: RecordCommand
}

/** What a caller may rely on. */
interface Acknowledged<Type extends string> {
  readonly type: Type
  readonly runId: string
  /** All of the run so far, with what was given to it. */
  readonly messages: readonly Message[]
}

/** What was promised by these lines, in order. */
export function promisedIn(lines: readonly Line[]): readonly Acknowledged<'asked' | 'ended'>[] {
  return lines.filter(isPromise)
}

function isPromise(line: Line): line is Extract<Line, { readonly type: 'asked' | 'ended' }> {
  return line.type === 'asked' || (line.type === 'ended' && line.outcome !== 'failed' && line.outcome !== 'cancelled')
}
