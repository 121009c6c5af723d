import { type ContextKey, contextKey, type RunContext } from '../context/context.ts'
import type { Json } from '../data/json.ts'
import type { ModelPart } from './model.ts'

/**
 * Lets a run go on where it broke off: keeps what its steps gave.
 * Contract: put into a run with `prepare: (ctx) => ctx.with(JOURNAL, journal)`; nested runs have it too.
 */
export interface Journal {
  /**
   * Gives what `work` gives, or what it gave when this run was here before.
   * Contract: work that rejects is not kept, and the rejection is passed on; `lost` is called instead of work that must not happen twice
   * and may have begun before the run broke off; rejects with `OUTCOME_UNKNOWN` where the run is not to go on.
   */
  perform<T extends Json>(step: string, work: () => Promise<T>, lost?: () => T | Promise<T>): Promise<T>
  /** Writes once more what a step that was done before has shown. Contract: what `write` writes before it returns was seen by readers. */
  retell?<T>(write: () => T): T
  /** Whether steps whose names begin like this were done before and have not been asked for yet. */
  hasLeft?(prefix: string): boolean
  /** What becomes of a call that may have run and must not run twice: the model is told that its outcome is unknown, or a person is asked. @default 'tell' */
  readonly unknownCalls?: 'tell' | 'ask'
  /** What readers have seen of an answer that broke off: the next model call of this context takes it back. */
  shown?(ctx: RunContext): readonly ModelPart[]
}

/** The journal of a run; the steps inside a step have none. */
export const JOURNAL: ContextKey<Journal | undefined> = contextKey('troupe.journal')
