import { chatModelAgent } from '@troupe/chat-model'
import { EMAIL, guardrails, redaction } from '@troupe/handlers'
import { type Agent, type AgentHandler, type ChatModel, defineTool, type ModelPart } from '@troupe/kernel'

/** What must never be seen: no four signs of these that follow each other are anywhere else. */
export const SECRET = 'Qzxv_PWLM_Kjwq'
export const MAIL = 'Xyqz@wvkj.example'
/** What makes a sentence refused. */
export const FORBIDDEN = 'Wvuqz'

/** Every piece of four signs of what must never be seen. */
export const TRACES: RegExp = new RegExp(
  [SECRET, 'Xyqz@wvkj', FORBIDDEN].flatMap((text) => [...text].slice(3).map((_, i) => text.slice(i, i + 4))).join('|'),
)

/** Handlers that keep all of it from being seen. */
export function guards(refuse: boolean): readonly AgentHandler[] {
  const check = (text: string) => {
    if (!text.includes(FORBIDDEN)) return undefined
    return refuse ? { refuse: 'it is forbidden' } : { replace: 'I say nothing. ' }
  }
  return [
    guardrails({ output: check, toolResults: check }),
    redaction({ rules: [EMAIL, { name: 'secret', match: SECRET }] }),
  ]
}

/** A text cut at these places. */
export function cut(text: string, places: readonly number[]): readonly string[] {
  const ends = [...places.map((place) => place % (text.length + 1)), text.length].sort((a, b) => a - b)
  return ends.map((end, i) => text.slice(ends[i - 1] ?? 0, end))
}

const finish: ModelPart = { type: 'finish', reason: 'stop', usage: { inputTokens: 5, outputTokens: 5 }, model: 'm' }

/** An agent whose model thinks, says, calls and hears this text, in pieces, and whose tools return it. */
export function leakyAgent(text: string, places: readonly number[], handlers: readonly AgentHandler[]): Agent {
  const pieces = cut(text, places)
  const args = cut(JSON.stringify({ note: text }), places)
  const call = (name: string): readonly ModelPart[] => [
    { type: 'tool-call-start', callId: name, name },
    ...args.map((delta) => ({ type: 'tool-call-delta', callId: name, delta }) as const),
    { type: 'tool-call-end', callId: name },
  ]
  const said = pieces.map((delta) => ({ type: 'text-delta', delta }) as const)
  const turns: readonly (readonly ModelPart[])[] = [
    [
      ...pieces.map((delta) => ({ type: 'reasoning-delta', delta }) as const),
      { type: 'part-end' },
      ...said,
      ...call('look'),
      ...call('read'),
      finish,
    ],
    [...said, finish],
  ]
  const model: ChatModel = {
    name: 'leaky',
    async *stream({ messages }) {
      yield* turns[messages.at(-1)?.role === 'tool' ? 1 : 0] ?? []
    },
  }
  const look = defineTool({
    name: 'look',
    description: 'Looks.',
    parameters: { type: 'object' },
    invoke: () => ({ content: text, display: text, data: { deep: [text] } }),
  })
  const read = defineTool({
    name: 'read',
    description: 'Reads.',
    parameters: { type: 'object' },
    async *stream() {
      yield* pieces
    },
  })
  return chatModelAgent({ name: 'guide', model, tools: [look, read], handlers })
}

/** A text as JSON may write it: with each sign as its number. */
function escaped(text: string): string {
  const signs = Array.from({ length: text.length }, (_, i) => text.charCodeAt(i).toString(16).padStart(4, '0'))
  return `"${signs.map((sign) => `\\u${sign}`).join('')}"`
}

/** An agent whose model calls a tool with this text as its name, and then gives it as structured output, in pieces. */
export function escapingAgent(text: string, places: readonly number[], handlers: readonly AgentHandler[]): Agent {
  const json = cut(`{"note":${escaped(text)}}`, places)
  const model: ChatModel = {
    name: 'escaping',
    async *stream({ messages }) {
      if (messages.at(-1)?.role === 'tool') {
        for (const delta of json) yield* [{ type: 'text-delta', delta } as const, { type: 'part-end' } as const]
      } else {
        yield { type: 'tool-call-start', callId: 'c', name: text }
        for (const delta of json) yield { type: 'tool-call-delta', callId: 'c', delta }
        yield { type: 'tool-call-end', callId: 'c' }
      }
      yield finish
    },
  }
  const output = { type: 'object', properties: { note: { type: 'string' } }, required: ['note'] } as const
  return chatModelAgent({ name: 'guide', model, output, handlers })
}
