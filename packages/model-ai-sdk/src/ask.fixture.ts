import type {
  AssistantMessage,
  ChatModel,
  Message,
  ModelPart,
  ModelRequest,
  Part,
  ReasoningPart,
  TextPart,
  ToolCall,
  ToolSpec,
} from '@troupe/kernel'

export const WEATHER: ToolSpec = {
  name: 'get_weather',
  description: 'The weather in a city.',
  parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
}

export function request(
  messages: readonly Message[] = [user('Hello?')],
  more: Partial<ModelRequest> = {},
): ModelRequest {
  return { instruction: 'Be brief.', messages, tools: [], options: {}, step: 'model:0', idempotencyKey: 'k', ...more }
}

export function user(content: Message['content'], id = 'u1'): Message {
  return { id, role: 'user', content }
}

export async function ask(
  model: ChatModel,
  asked: ModelRequest = request(),
  signal: AbortSignal = new AbortController().signal,
): Promise<ModelPart[]> {
  const parts: ModelPart[] = []
  for await (const part of model.stream(asked, { signal })) parts.push(part)
  return parts
}

type Draft<T> = { -readonly [K in keyof T]: T[K] }

/** Collects the message of a stream of parts. */
export function messageOf(parts: readonly ModelPart[]): AssistantMessage & { readonly toolCalls: readonly ToolCall[] } {
  const content: Part[] = []
  const calls = new Map<string, Draft<ToolCall>>()
  let open: Draft<TextPart | ReasoningPart> | undefined
  for (const part of parts) {
    const call = 'callId' in part ? calls.get(part.callId) : undefined
    switch (part.type) {
      case 'text-delta':
      case 'reasoning-delta': {
        const type = part.type === 'text-delta' ? 'text' : 'reasoning'
        const current: Draft<TextPart | ReasoningPart> = open?.type === type ? open : { type, text: '' }
        if (current !== open) content.push(current)
        current.text += part.delta
        open = current
        break
      }
      case 'part-end':
        if (open && part.metadata) open.metadata = part.metadata
        open = undefined
        break
      case 'file':
        content.push(part.file)
        break
      case 'tool-call-start':
        calls.set(part.callId, { id: part.callId, name: part.name, arguments: '' })
        break
      case 'tool-call-delta':
        if (call) call.arguments += part.delta
        break
      case 'tool-call-end':
        if (call && part.metadata) call.metadata = part.metadata
    }
  }
  return { id: 'a1', role: 'assistant', content, toolCalls: [...calls.values()] }
}
