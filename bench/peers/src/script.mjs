/** The script of every fake model, and the counts of what was really done. */
export const WORD = 'word '
export const ARGS = { a: 1, b: 2 }
export const ARGS_JSON = JSON.stringify(ARGS)
export const QUESTION = 'Go.'
export const CONCURRENT = 1_000
export const DELTAS = 5_000
export const PRIOR = 1_000
export const STEPS = 10

/** Contract: models and tools count their calls here, consumers count the deltas. The worker checks the counts after every round. */
export const done = { modelCalls: 0, toolCalls: 0, deltas: 0 }

/** The only tool. */
export function add({ a, b }) {
  done.toolCalls++
  return String(a + b)
}

/** The content of the nth prior message; user and assistant alternate. */
export const priorContent = (i) => `Message ${i}.`

/** Whether the user wrote the nth prior message. */
export const byUser = (i) => i % 2 === 0

/** A list of prior messages, made by `message(content, isUser, index)`. */
export const priorMessages = (length, message) =>
  Array.from({ length }, (_, i) => message(priorContent(i), byUser(i), i))

let calls = 0
/** An id for a tool call that no other call has. */
export const nextCallId = () => `c${++calls}`

/** Counts the tool results since the last message of the user. */
export function resultsSince(messages, isResult, isUser) {
  let results = 0
  for (let i = messages.length - 1; i >= 0 && !isUser(messages[i]); i--) if (isResult(messages[i])) results++
  return results
}
