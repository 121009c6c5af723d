import { type ChatModel, type Json, type ModelPart, textOf } from '@troupe/kernel'

/** One answer of a scripted model: a text, or a tool call. */
export type ScriptedAnswer = string | { readonly call: string; readonly args: Json }

/** An answer, or a function that makes it from the text of the last message: a question, or the result of the last call. */
export type ScriptStep = ScriptedAnswer | ((last: string) => ScriptedAnswer)

/**
 * A chat model without a vendor, which gives the answers of a script, one for each model call since the last user message.
 * Contract: keeps no state, so any number of conversations can use it.
 */
export function scriptedModel(name: string, steps: readonly ScriptStep[]): ChatModel {
  return {
    name,
    async *stream({ messages }) {
      const since = messages.slice(messages.findLastIndex(({ role }) => role === 'user'))
      const step = steps[since.filter(({ role }) => role === 'assistant').length] ?? 'That was all.'
      const answer = typeof step === 'function' ? step(textOf(messages.at(-1)?.content ?? '')) : step
      yield* partsOf(answer, `${name}-${messages.length}`)
    },
  }
}

function* partsOf(answer: ScriptedAnswer, callId: string): Generator<ModelPart> {
  const usage = { inputTokens: 1, outputTokens: 1 }
  if (typeof answer === 'string') {
    yield { type: 'text-delta', delta: answer }
    return yield { type: 'finish', reason: 'stop', usage }
  }
  yield { type: 'tool-call-start', callId, name: answer.call }
  yield { type: 'tool-call-delta', callId, delta: JSON.stringify(answer.args) }
  yield { type: 'tool-call-end', callId }
  yield { type: 'finish', reason: 'tool-calls', usage }
}
