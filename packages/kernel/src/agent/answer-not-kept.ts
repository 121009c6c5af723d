import { type ContextKey, contextKey } from '../context/context.ts'

/**
 * Says that the answer of this model call must not be stored as the model gave it, because a handler changes it for good.
 * Contract: set in the context that `wrapModelCall` passes to `next`; if another wrap asks a person about the answer, the model is asked again after the person has answered.
 */
export const ANSWER_NOT_KEPT: ContextKey<true> = contextKey<true>('troupe.answerNotKept')
