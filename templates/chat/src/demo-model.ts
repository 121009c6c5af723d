import { setTimeout as pause } from 'node:timers/promises'
import { type ChatModel, type JsonObject, type ModelPart, textOf } from '@troupe/kernel'

/** A model without a key that follows a few rules: it calls the tools of this app and repeats what they say. */
export function demoModel(): ChatModel {
  return {
    name: 'demo',
    async *stream({ messages }, { signal }) {
      for (const part of answerTo(messages)) {
        // So that a person sees it stream.
        if (part.type === 'text-delta') await pause(25, undefined, { signal })
        yield part
      }
    },
  }
}

const HELP = 'I am a demo model. Say “Books about cooking”, “Order Small Boats”, or “Make the page dark”.'
const usage = { inputTokens: 0, outputTokens: 0 }

function answerTo(messages: Parameters<ChatModel['stream']>[0]['messages']): Iterable<ModelPart> {
  const last = messages.at(-1)
  const text = textOf(last?.content ?? '')
  const [, topic] = /\bbooks? (?:about|on) (\w+)/i.exec(text) ?? []
  const [, title] = /\border (.+)/i.exec(text) ?? []
  const [, theme] = /\b(light|dark)\b/i.exec(text) ?? []
  if (last?.role === 'tool') return say(text)
  if (topic) return call('search_books', { words: topic })
  if (title) return call('order_book', { title: title.replace(/[.!]$/, ''), copies: 1 }, 'I can order it.')
  return theme ? call('set_theme', { theme: theme.toLowerCase() }) : say(HELP)
}

function* say(text: string): Generator<ModelPart> {
  for (const delta of text.split(/(?<= )/)) yield { type: 'text-delta', delta }
  yield { type: 'finish', reason: 'stop', usage }
}

function* call(name: string, args: JsonObject, text = ''): Generator<ModelPart> {
  const callId = crypto.randomUUID()
  if (text) yield { type: 'text-delta', delta: text }
  yield { type: 'tool-call-start', callId, name }
  yield { type: 'tool-call-delta', callId, delta: JSON.stringify(args) }
  yield { type: 'tool-call-end', callId }
  yield { type: 'finish', reason: 'tool-calls', usage }
}
