import type { ChatModel, Message, Tool } from '@troupe/kernel'
import { defineTool } from '@troupe/kernel'

/** How many pieces each answer has. */
export const DELTAS = 50
const DELTA = 'tok '
/** The answer of every turn. */
export const ANSWER: string = DELTA.repeat(DELTAS)
export const PROMPT = 'Please look up k0 and answer the question.'
export const RESULT = 'value-of-k0'
/** The arguments of the one call of each turn. */
export const CALL_ARGUMENTS = '{"q":"k0"}'

/** Whether the model answers now: the last turn has the result of its call. */
export function isLastCall(messages: readonly { readonly role: string }[]): boolean {
  return messages.at(-1)?.role === 'tool'
}

let calls = 0
/** An id that no call had before. */
export function nextId(): string {
  return `${process.pid.toString(36)}-${(++calls).toString(36)}`
}

/** A model without latency that calls a tool once and then answers. */
export const scriptedModel: ChatModel = {
  name: 'scripted',
  async *stream({ messages }) {
    const usage = { inputTokens: 1, outputTokens: 1 }
    if (isLastCall(messages)) {
      for (let i = 0; i < DELTAS; i++) yield { type: 'text-delta', delta: DELTA }
      yield { type: 'finish', reason: 'stop', usage }
      return
    }
    const callId = nextId()
    yield { type: 'tool-call-start', callId, name: 'lookup' }
    yield { type: 'tool-call-delta', callId, delta: CALL_ARGUMENTS }
    yield { type: 'tool-call-end', callId }
    yield { type: 'finish', reason: 'tool-calls', usage }
  },
}

/** The pieces that the model of the hand-written side streams. */
export async function* handWrittenModel(
  messages: readonly { readonly role: string }[],
): AsyncGenerator<{ readonly call: string } | { readonly delta: string }> {
  if (isLastCall(messages)) for (let i = 0; i < DELTAS; i++) yield { delta: DELTA }
  else yield { call: nextId() }
}

/** The tool of both sides. */
export function look({ q }: { readonly q: string }): string {
  if (q !== 'k0') throw new Error(`bench: the tool got ${q}`)
  return RESULT
}

export const lookup: Tool = defineTool({
  name: 'lookup',
  description: 'Looks up a value.',
  parameters: {
    type: 'object',
    properties: { q: { type: 'string' } },
    required: ['q'],
    additionalProperties: false,
  },
  invoke: (args) => look(args as { q: string }),
})

/** Messages of former turns: a question, a call, its result, an answer. */
export function pastMessages(count: number, thread: string): readonly Message[] {
  return Array.from({ length: count }, (_, i): Message => {
    const id = `${thread}-${i}`
    const callId = `${thread}-c${i - (i % 4)}`
    const call = { id: callId, name: 'lookup', arguments: CALL_ARGUMENTS }
    if (i % 4 === 0) return { id, role: 'user', content: PROMPT }
    if (i % 4 === 1) return { id, role: 'assistant', content: '', agentName: 'agent', toolCalls: [call] }
    if (i % 4 === 2) return { id, role: 'tool', callId, name: 'lookup', agentName: 'agent', content: RESULT }
    return { id, role: 'assistant', content: ANSWER, agentName: 'agent' }
  })
}
