import { type ChatModel, type JsonObject, type ModelPart, textOf } from '@troupe/kernel'

/** A model without a key that follows a few rules: it calls the tools of this app and repeats what they say. */
export function demoModel(): ChatModel {
  return {
    name: 'demo',
    async *stream({ messages }) {
      const last = messages.at(-1)
      const text = textOf(last?.content ?? '')
      const [, note] = /\b(?:remember|note)(?: that|:)? (.+)/i.exec(text) ?? []
      if (last?.role === 'tool') yield* say(text)
      else if (note) yield* call('save_note', { note })
      else if (/\bnotes\b/i.test(text)) yield* call('read_notes', {})
      else yield* say('I am a demo model. Say "Remember to buy milk", or "What are my notes?"')
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
