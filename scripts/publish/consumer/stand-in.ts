import { type ChatModel, type ModelPart, textOf } from '@troupe/kernel'

const USAGE = { inputTokens: 1, outputTokens: 1 }

/** A scripted model: it asks for the weather if it can, otherwise transfers if it can, and answers in capitals if the instruction asks for it. */
export const standIn: ChatModel = {
  name: 'stand-in',
  async *stream({ instruction, messages, tools }): AsyncGenerator<ModelPart> {
    const last = messages.at(-1)
    const has = (name: string) => last?.role !== 'tool' && tools.some((tool) => tool.name === name)
    if (has('get_weather')) return yield* call('get_weather', { city: 'Beijing' })
    if (has('transfer_to_agent')) return yield* call('transfer_to_agent', { agent_name: 'weather' })
    const [, suffix] = /Answer in capitals and end with (.*)/.exec(instruction) ?? []
    const text = textOf(last?.content ?? '')
    yield { type: 'text-delta', delta: suffix === undefined ? text : `${text.toUpperCase()}${suffix}` }
    yield { type: 'finish', reason: 'stop', usage: USAGE }
  },
}

async function* call(name: string, args: Record<string, string>): AsyncGenerator<ModelPart> {
  yield { type: 'tool-call-start', callId: name, name }
  yield { type: 'tool-call-delta', callId: name, delta: JSON.stringify(args) }
  yield { type: 'tool-call-end', callId: name }
  yield { type: 'finish', reason: 'tool-calls', usage: USAGE }
}
