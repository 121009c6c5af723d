import type {
  LanguageModelV4FilePart,
  LanguageModelV4Message,
  LanguageModelV4Prompt,
  LanguageModelV4ReasoningPart,
  LanguageModelV4TextPart,
  LanguageModelV4ToolCallPart,
  LanguageModelV4ToolResultOutput,
  LanguageModelV4ToolResultPart,
} from '@ai-sdk/provider'
import {
  type AssistantMessage,
  type Content,
  type FilePart,
  KernelError,
  type Message,
  type ModelRequest,
  type Part,
  type ProviderMetadata,
  type SystemMessage,
  type ToolCall,
  type ToolMessage,
  textOf,
} from '@troupe/kernel'
import { mergeMetadata } from './metadata.ts'

type AssistantPart = LanguageModelV4TextPart | LanguageModelV4FilePart | LanguageModelV4ReasoningPart

/** Converts the instruction and messages of a request for the AI SDK; `late` is the role of system messages inside the conversation. */
export function toPrompt(
  { instruction, messages }: Pick<ModelRequest, 'instruction' | 'messages'>,
  late: 'system' | 'user',
): LanguageModelV4Prompt {
  const prompt: LanguageModelV4Prompt = instruction ? [{ role: 'system', content: instruction }] : []
  const calls = new Map<string, ToolCall>()
  let begun = false
  for (const message of messages) {
    const last = prompt.at(-1)
    if (message.role === 'tool' && last?.role === 'tool') {
      // Vendors expect the results of parallel calls in one message.
      last.content.push(toResult(message, calls))
      continue
    }
    for (const call of (message.role === 'assistant' && message.toolCalls) || []) calls.set(call.id, call)
    const converted = toMessage(message, begun ? late : 'system', calls)
    if (converted) prompt.push(converted)
    begun ||= message.role !== 'system'
  }
  return prompt
}

function toMessage(
  message: Message,
  system: 'system' | 'user',
  calls: ReadonlyMap<string, ToolCall>,
): LanguageModelV4Message | undefined {
  switch (message.role) {
    case 'system':
      return toSystem(message, system)
    case 'user': {
      const content = toParts(message.content).filter((part) => part.type !== 'reasoning')
      return content.length > 0 ? { role: 'user', content } : undefined
    }
    case 'assistant':
      return toAssistant(message)
    case 'tool':
      return { role: 'tool', content: [toResult(message, calls)] }
  }
}

function toSystem({ content }: SystemMessage, role: 'system' | 'user'): LanguageModelV4Message | undefined {
  const text = textOf(content)
  if (!text) return undefined
  if (role === 'user') return { role, content: [{ type: 'text', text: `<system>\n${text}\n</system>` }] }
  let metadata: ProviderMetadata | undefined
  for (const part of typeof content === 'string' ? [] : content) metadata = mergeMetadata(metadata, part.metadata)
  return { role, content: text, ...options(metadata) }
}

function toAssistant({ content, toolCalls = [] }: AssistantMessage): LanguageModelV4Message | undefined {
  const parts = [...toParts(content), ...toolCalls.map(toCall)]
  return parts.length > 0 ? { role: 'assistant', content: parts } : undefined
}

function toCall({ id, name, arguments: text, metadata }: ToolCall): LanguageModelV4ToolCallPart {
  return { type: 'tool-call', toolCallId: id, toolName: name, input: toInput(text), ...options(metadata) }
}

/** Parses the arguments of a call. Contract: vendors take objects only, so anything else is wrapped; the model sees it again beside the error it got. */
function toInput(text: string): unknown {
  if (text.trim() === '') return {}
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : { rawInvalidInput: value }
  } catch {
    return { rawInvalidInput: text }
  }
}

function toResult(message: ToolMessage, calls: ReadonlyMap<string, ToolCall>): LanguageModelV4ToolResultPart {
  const { callId, name } = message
  return {
    type: 'tool-result',
    toolCallId: callId,
    toolName: name,
    output: toOutput(message),
    ...options(calls.get(callId)?.metadata),
  }
}

function toOutput({ content, error }: ToolMessage): LanguageModelV4ToolResultOutput {
  if (error) return { type: 'error-text', value: textOf(content) || error.message }
  if (typeof content === 'string' || content.every(isPlain)) return { type: 'text', value: textOf(content) }
  return { type: 'content', value: toParts(content).filter((part) => part.type !== 'reasoning') }
}

function isPlain(part: Part): boolean {
  return part.type === 'reasoning' || (part.type === 'text' && !part.metadata)
}

/** Converts parts. Contract: empty text is left out, because vendors refuse it, unless it has metadata of the vendor. */
function toParts(content: Content): AssistantPart[] {
  if (typeof content === 'string') return content ? [{ type: 'text', text: content }] : []
  return content.filter((part) => part.type === 'file' || part.text || part.metadata).map(toPart)
}

function toPart(part: Part): AssistantPart {
  if (part.type !== 'file') return { type: part.type, text: part.text, ...options(part.metadata) }
  const { mediaType, name } = part
  return {
    type: 'file',
    mediaType,
    data: toData(part),
    ...(name !== undefined && { filename: name }),
    ...options(part.metadata),
  }
}

function toData({ data, url }: FilePart): LanguageModelV4FilePart['data'] {
  if (data !== undefined) return { type: 'data', data }
  const [, inline] = /^data:[^,]*;base64,(.*)$/s.exec(url ?? '') ?? []
  if (inline !== undefined) return { type: 'data', data: inline }
  const parsed = URL.parse(url ?? '')
  if (parsed) return { type: 'url', url: parsed, ...(url !== undefined && parsed.href !== url && { originalUrl: url }) }
  throw new KernelError(
    'MODEL_REQUEST_INVALID',
    `file part: must have base64 data or an absolute URL, got ${JSON.stringify(url?.slice(0, 60))}`,
  )
}

function options(metadata: ProviderMetadata | undefined): { providerOptions?: ProviderMetadata } {
  return metadata ? { providerOptions: metadata } : {}
}
