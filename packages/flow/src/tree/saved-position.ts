import { type Answers, got, type Json, KernelError } from '@troupe/kernel'

/** Where a flow stands. Contract: JSON, kept in checkpoints. */
export type SavedPosition = {
  readonly format: 1
  /** Who speaks. */
  readonly agent: string
  /** Those who handed over, from the first on. */
  readonly path: readonly string[]
  readonly hop: number
  /** Whether the agent has asked something and is to be resumed, rather than run on the results that came. */
  readonly asked: boolean
  /** What the agent itself needs. */
  readonly inner?: Json
  /** What it was answered before, and will ask again. */
  readonly answers?: Answers
}

/** Contract: throws `CHECKPOINT_INVALID` for what is no position. */
export function readSavedPosition(state: Json): SavedPosition {
  const position = state as SavedPosition | null
  if (
    position?.format === 1 &&
    typeof position.agent === 'string' &&
    Array.isArray(position.path) &&
    Number.isInteger(position.hop)
  ) {
    return position
  }
  throw new KernelError('CHECKPOINT_INVALID', `checkpoint: this is not where a flow stood, ${got(state)}`)
}
