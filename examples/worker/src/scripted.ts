import { type ChatModel, type Json, type ModelPart, textOf } from '@troupe/kernel'

/** What a scripted model says at one step: a text, or a call. */
export type Said = string | { readonly call: string; readonly args: Json }

/** A step of a script; a function gets the text of the last message: a question, or the result of the last call. */
export type ScriptStep = Said | ((last: string) => Said)

/** A chat model without a vendor: at each step of a turn it says what the script has there. Contract: keeps nothing, so any number of conversations may use it. */
export function scripted(name: string, steps: readonly ScriptStep[]): ChatModel {
  return {
    name,
    async *stream({ messages }) {
      const since = messages.slice(messages.findLastIndex(({ role }) => role === 'user'))
      const step = steps[since.filter(({ role }) => role === 'assistant').length] ?? 'That was all.'
      const said = typeof step === 'function' ? step(textOf(messages.at(-1)?.content ?? '')) : step
      yield* partsOf(said, `${name}-${messages.length}`)
    },
  }
}

function* partsOf(said: Said, callId: string): Generator<ModelPart> {
  const usage = { inputTokens: 1, outputTokens: 1 }
  if (typeof said === 'string') {
    yield { type: 'text-delta', delta: said }
    return yield { type: 'finish', reason: 'stop', usage }
  }
  yield { type: 'tool-call-start', callId, name: said.call }
  yield { type: 'tool-call-delta', callId, delta: JSON.stringify(said.args) }
  yield { type: 'tool-call-end', callId }
  yield { type: 'finish', reason: 'tool-calls', usage }
}
