import { setTimeout as pause } from 'node:timers/promises'
import { type ChatModel, type JsonObject, type ModelPart, textOf } from '@troupe/kernel'

/** A model without a key that follows a few rules: it calls the tools of this app, and counts slowly. */
export function demoModel(): ChatModel {
  return {
    name: 'demo',
    async *stream({ messages }, { signal }) {
      const last = messages.at(-1)
      const text = textOf(last?.content ?? '')
      const invoice = Number(/invoice (\d+)/i.exec(text)?.[1] ?? 0)
      const numbers = Math.min(Number(/count to (\d+)/i.exec(text)?.[1] ?? 0), 300)
      if (last?.role === 'tool') yield* say(text)
      else if (invoice > 0) yield* call(/pay/i.test(text) ? 'pay_invoice' : 'find_invoice', { invoice })
      else if (numbers > 0) yield* count(numbers, signal)
      else yield* say('I am a demo model. Say "Pay invoice 7" or "Count to 100", and stop a server meanwhile.')
    },
  }
}

const usage = { inputTokens: 0, outputTokens: 0 }

/** Counts, five numbers a second. */
async function* count(to: number, signal: AbortSignal): AsyncGenerator<ModelPart> {
  for (let number = 1; number <= to; number++) {
    yield { type: 'text-delta', delta: `${number} ` }
    await pause(200, undefined, { signal })
  }
  yield { type: 'finish', reason: 'stop', usage }
}

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
