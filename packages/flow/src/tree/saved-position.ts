import { type Answers, type Json, KernelError } from '@troupe/kernel'
import { got } from '@troupe/kernel/kit'

/** The position of a flow in its tree. Contract: JSON, stored in checkpoints. */
export type SavedPosition = {
  readonly format: 1
  /** The name of the agent that runs. */
  readonly agent: string
  /** The agents that transferred to it, first to last. */
  readonly path: readonly string[]
  readonly hop: number
  /** Whether the agent has asked a question and has to be resumed; otherwise it runs again with the new results. */
  readonly asked: boolean
  /** The state of the agent itself. */
  readonly inner?: Json
  /** Earlier answers, to questions that the agent will ask again. */
  readonly answers?: Answers
}

/** Contract: throws `CHECKPOINT_INVALID` if the state is not a position. */
export function readSavedPosition(state: Json): SavedPosition {
  const position = state as SavedPosition | null
  if (
    position?.format === 1 &&
    typeof position.agent === 'string' &&
    Array.isArray(position.path) &&
    position.path.every((name) => typeof name === 'string') &&
    Number.isInteger(position.hop) &&
    typeof (position.answers ?? {}) === 'object'
  ) {
    return position
  }
  throw new KernelError('CHECKPOINT_INVALID', `checkpoint: expected the position of a flow, ${got(state)}`)
}
