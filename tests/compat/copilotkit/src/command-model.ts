import type { ChatModel, Message, ModelPart, ModelRequest } from '../../../../packages/kernel/src/index.ts'
import { KernelError, textOf } from '../../../../packages/kernel/src/index.ts'

/** A model that takes the first word of the last user message as a command, and repeats the results of tools. */
export function commandModel(): ChatModel {
  return { name: 'command', stream: (request, { signal }) => answer(request, signal) }
}

async function* answer(request: ModelRequest, signal: AbortSignal): AsyncGenerator<ModelPart> {
  const { messages, instruction } = request
  const last = messages.at(-1)
  if (last?.role === 'tool') return yield* say(...results(messages))
  const [word, ...rest] = textOf(messages.findLast(({ role }) => role === 'user')?.content ?? '').split(' ')
  switch (word) {
    case 'weather':
      return yield* call('get_weather', ['{"city":', '"Beijing"}'], 'Let me look.')
    case 'pick':
      return yield* call('pick_colour', ['{"from":["red",', '"blue"]}'])
    case 'note':
      return yield* call('write_note', [JSON.stringify({ text: rest.join(' ') })])
    case 'pay':
      return yield* call('pay', ['{"amount":7}'])
    case 'ask':
      return yield* call('ask_expert', ['{"request":"weather"}'])
    case 'hold':
      return yield* call('never_ends', ['{}'])
    case 'transfer':
      return yield* call('transfer_to_agent', ['{"agent_name":"Clerk"}'])
    case 'think':
      yield { type: 'reasoning-delta', delta: 'Six ' }
      yield { type: 'reasoning-delta', delta: 'times seven.' }
      return yield* say('It is 42.')
    case 'look':
      return yield* say(`I see ${shapeOf(messages)}.`)
    case 'recall':
      return yield* say(`You said: ${userTexts(messages)}.`)
    case 'instruction':
      return yield* say(instruction)
    case 'break':
      throw new KernelError('MODEL_FAILED', 'command: a secret of the server', { retryable: false })
    case 'wait':
      yield { type: 'text-delta', delta: 'One moment.' }
      await new Promise((resolve) => signal.addEventListener('abort', resolve))
      throw new KernelError('ABORTED', 'command: aborted')
    default:
      return yield* say('Hello', ' to', ' you.')
  }
}

async function* say(...deltas: readonly string[]): AsyncGenerator<ModelPart> {
  for (const delta of deltas) yield { type: 'text-delta', delta }
  yield { type: 'finish', reason: 'stop', usage: { inputTokens: 1, outputTokens: deltas.length } }
}

async function* call(name: string, pieces: readonly string[], text = ''): AsyncGenerator<ModelPart> {
  const callId = crypto.randomUUID()
  if (text !== '') yield { type: 'text-delta', delta: text }
  yield { type: 'tool-call-start', callId, name }
  for (const delta of pieces) yield { type: 'tool-call-delta', callId, delta }
  yield { type: 'tool-call-end', callId }
  yield { type: 'finish', reason: 'tool-calls', usage: { inputTokens: 1, outputTokens: pieces.length } }
}

/** The results of the last turn: `get_weather: Sunny in Beijing.` */
function results(messages: readonly Message[]): readonly string[] {
  const turn = messages.slice(messages.findLastIndex(({ role }) => role === 'assistant') + 1)
  return turn.flatMap((message) => (message.role === 'tool' ? [`${message.name}: ${textOf(message.content)}`] : []))
}

function userTexts(messages: readonly Message[]): string {
  return messages.flatMap(({ role, content }) => (role === 'user' ? [textOf(content)] : [])).join(', ')
}

/** The parts of the last user message: `text, file image/png`. */
function shapeOf(messages: readonly Message[]): string {
  const content = messages.findLast(({ role }) => role === 'user')?.content ?? ''
  if (typeof content === 'string') return 'text'
  return content.map((part) => (part.type === 'file' ? `file ${part.mediaType}` : part.type)).join(', ')
}
