import { ARGS_JSON, nextCallId, QUESTION, WORD } from '../script.mjs'

/** How many pieces each answer has. */
export const PIECES = 50
export const ANSWER = WORD.repeat(PIECES)

/** Messages of former turns, in four forms: a question, a call, its result, an answer. */
export function pastMessages(length, thread, { question, call, result, answer }) {
  let callId
  return Array.from({ length }, (_, i) => {
    const id = `${thread}-${i}`
    if (i % 4 === 0) return question(id, QUESTION)
    if (i % 4 === 1) {
      callId = nextCallId()
      return call(id, callId, ARGS_JSON)
    }
    return i % 4 === 2 ? result(id, callId, '3') : answer(id, ANSWER)
  })
}
