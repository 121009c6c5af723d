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

/** Collects the message of a stream of parts. */
export function messageOf(parts: readonly ModelPart[]): AssistantMessage & { readonly toolCalls: readonly ToolCall[] } {
  return { id: 'a1', role: 'assistant', content: contentOf(parts), toolCalls: callsOf(parts) }
}

function contentOf(parts: readonly ModelPart[]): readonly Part[] {
  const content: Part[] = []
  let open: TextPart | ReasoningPart | undefined
  const grow = (type: 'text' | 'reasoning', delta: string) => {
    const grown = open?.type === type ? { ...open, text: open.text + delta } : { type, text: delta }
    if (open?.type === type) content[content.indexOf(open)] = grown
    else content.push(grown)
    open = grown
  }
  for (const part of parts) {
    if (part.type === 'text-delta') grow('text', part.delta)
    else if (part.type === 'reasoning-delta') grow('reasoning', part.delta)
    else if (part.type === 'file') content.push(part.file)
    else if (part.type === 'part-end') {
      if (open && part.metadata) content[content.indexOf(open)] = { ...(open as TextPart), metadata: part.metadata }
      open = undefined
    }
  }
  return content
}

function callsOf(parts: readonly ModelPart[]): readonly ToolCall[] {
  const calls = new Map<string, ToolCall>()
  for (const part of parts) {
    if (part.type === 'tool-call-start') calls.set(part.callId, { id: part.callId, name: part.name, arguments: '' })
    const call = 'callId' in part ? calls.get(part.callId) : undefined
    if (!call) continue
    if (part.type === 'tool-call-delta') calls.set(call.id, { ...call, arguments: call.arguments + part.delta })
    if (part.type === 'tool-call-end' && part.metadata) calls.set(call.id, { ...call, metadata: part.metadata })
  }
  return [...calls.values()]
}
