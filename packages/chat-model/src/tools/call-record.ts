import type { AgentAction, ErrorInfo, Interrupt, Json, Part, ToolCallResult } from '@troupe/kernel'
import type { StepEffects } from '@troupe/kernel/journal'

/** The record of a tool call: its result or error, and what it did to its run. */
export type CallRecord = StepEffects & {
  readonly result?: ToolCallResult
  /** The error of a question or of a handler; that of the tool is in the result. */
  readonly error?: ErrorInfo
  readonly effects?: {
    readonly interrupts?: readonly Interrupt[]
    readonly actions?: readonly AgentAction[]
    readonly customActions?: readonly AgentAction[]
    readonly asksApproval?: true
    readonly asksOutcome?: true
    readonly saved?: Json
    readonly began?: string
  }
  /** What it streamed; true if that was the text of its result. */
  readonly chunks?: true | readonly (string | Part)[]
}

/** What a call has done to its run so far. */
export interface CallEffects {
  readonly interrupts: Interrupt[]
  /** Actions that decide what happens next. */
  readonly actions: AgentAction[]
  /** Actions that are written as events and decide nothing. */
  readonly customActions: AgentAction[]
  /** Whether a person was asked if it may run: the question stands, even if the tool would not ask again. */
  asksApproval: boolean
  /** Whether it asks a person once more what became of it. */
  asksOutcome: boolean
  /** State of its nested runs, for when the call runs again. */
  saved: Json | undefined
  /** The arguments with which the tool began, if it was decided whether it may. */
  began: string | undefined
}

/** Joins the chunks of a stream for its record. */
export function recordedChunks(
  chunks: readonly (string | Part)[],
  { result }: Pick<CallRecord, 'result'>,
): NonNullable<CallRecord['chunks']> {
  const joined: (string | Part)[] = []
  for (const chunk of chunks) {
    const last = joined.at(-1)
    if (typeof chunk === 'string' && typeof last === 'string') joined[joined.length - 1] = last + chunk
    else joined.push(chunk)
  }
  return joined.length === 1 && joined[0] === result?.content ? true : joined
}

/** The chunks of a record, as they are shown again. */
export function chunksOf({ chunks = [], result }: CallRecord): readonly (string | Part)[] {
  return chunks === true ? [result?.content as string] : chunks
}
