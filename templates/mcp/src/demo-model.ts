import { type ChatModel, type JsonObject, type ModelPart, textOf } from '@troupe/kernel'

/** A model without a key that follows a few rules: it calls the tools of the pantry and repeats what they say. */
export function demoModel(): ChatModel {
  return {
    name: 'demo',
    async *stream({ messages, tools }) {
      const last = messages.at(-1)
      const text = textOf(last?.content ?? '')
      const [, thing] = /\border (?:some |a |an )?(.+?)[.!?]*$/i.exec(text) ?? []
      if (last?.role === 'tool') yield* say(text)
      else if (!tools.some(({ name }) => name === 'pantry_stock')) yield* say('I cannot reach the pantry.')
      else if (thing) yield* call('pantry_order', { thing })
      else if (/pantry|stock|have/i.test(text)) yield* call('pantry_stock', {})
      else yield* say('I am a demo model. Ask me "What is in the pantry?", or say "Order tomatoes".')
    },
  }
}

const usage = { inputTokens: 0, outputTokens: 0 }

function* say(text: string): Generator<ModelPart> {
  for (const delta of text.split(/(?<= )/)) yield { type: 'text-delta', delta }
  yield { type: 'finish', reason: 'stop', usage }
}

function* call(name: string, args: JsonObject): Generator<ModelPart> {
  const callId = crypto.randomUUID()
  yield { type: 'tool-call-start', callId, name }
  yield { type: 'tool-call-delta', callId, delta: JSON.stringify(args) }
  yield { type: 'tool-call-end', callId }
  yield { type: 'finish', reason: 'tool-calls', usage }
}
