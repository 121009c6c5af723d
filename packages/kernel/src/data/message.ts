import type { AgentAction } from './action.ts'
import type { Json, JsonObject } from './json.ts'
import type { ErrorInfo } from './kernel-error.ts'

/** Data that a provider needs back unchanged on the next call (signatures, cache marks), by provider name. */
export type ProviderMetadata = { readonly [provider: string]: JsonObject }
/** A piece of text. */
export type TextPart = { readonly type: 'text'; readonly text: string; readonly metadata?: ProviderMetadata }
/** The model's reasoning; `encrypted` is kept for the provider and never shown. */
export type ReasoningPart = {
  readonly type: 'reasoning'
  readonly text: string
  readonly encrypted?: string
  readonly metadata?: ProviderMetadata
}
/** Any media: image, audio, video, document. Contract: exactly one of `data` (base64) and `url`. */
export type FilePart = {
  readonly type: 'file'
  readonly mediaType: string
  readonly data?: string
  readonly url?: string
  readonly name?: string
  readonly metadata?: ProviderMetadata
}
/** A part of a message or of a tool result. */
export type Part = TextPart | ReasoningPart | FilePart
/** Text, or parts in order. */
export type Content = string | readonly Part[]
/** A call the model asks for. Contract: `id` is unique in the thread; `arguments` is the text the model wrote, valid JSON or not. */
export type ToolCall = {
  readonly id: string
  readonly name: string
  readonly arguments: string
  readonly metadata?: ProviderMetadata
}

type MessageBase = {
  /** Contract: made once, before any I/O; the same in the stream, in the store and on the wire. */
  readonly id: string
  readonly content: Content
}

/** A message of the application inside a history; an agent's instruction is not one. */
export type SystemMessage = MessageBase & { readonly role: 'system' }
/** A message of a person; or, with `agentName`, of another agent, given as context. */
export type UserMessage = MessageBase & { readonly role: 'user'; readonly agentName?: string }

/** A message of a model. */
export type AssistantMessage = MessageBase & {
  readonly role: 'assistant'
  readonly toolCalls?: readonly ToolCall[]
  /** Set if the model was cut off: an abort or an error ended the answer. Contract: such a message has no calls. */
  readonly partial?: true
  /** Set if the text is structured output: JSON for a program. Contract: such a message has no calls; one that is `partial` may not be valid JSON. */
  readonly structured?: true
  /** The agent that wrote it; read when the history is rewritten for another agent. */
  readonly agentName?: string
}

/** The answer to one tool call. */
export type ToolMessage = MessageBase & {
  readonly role: 'tool'
  readonly callId: string
  readonly name: string
  readonly agentName?: string
  /** Shown to a person instead of `content`. */
  readonly display?: string
  /** Data for programs: a sub-agent's status, an MCP structured result. */
  readonly data?: Json
  readonly error?: ErrorInfo
  /** The action of the call, kept because another call of its turn awaits its result. */
  readonly kept?: { readonly actions: readonly AgentAction[]; readonly direct?: true }
}

/** One entry of a history. Contract: never mutated, shared between histories. */
export type Message = SystemMessage | UserMessage | AssistantMessage | ToolMessage

/** Tokens of one model call and what they cost, or their sum. */
export type Usage = {
  readonly inputTokens: number
  readonly outputTokens: number
  readonly reasoningTokens?: number
  /** Input tokens that the provider read from its cache. */
  readonly cachedInputTokens?: number
  /** Input tokens that the provider put into its cache. */
  readonly cacheWriteTokens?: number
  /** What they cost, in the currency of the prices. */
  readonly cost?: number
}

/** No tokens at all. */
export const NO_USAGE: Usage = { inputTokens: 0, outputTokens: 0 }

/** Adds tokens up; an optional count is there if either side has it. */
export function addUsage(a: Usage, b: Usage): Usage {
  const sum: { -readonly [K in keyof Usage]: Usage[K] } = {
    inputTokens: a.inputTokens + b.inputTokens,
    outputTokens: a.outputTokens + b.outputTokens,
  }
  const reasoning = plus(a.reasoningTokens, b.reasoningTokens)
  if (reasoning !== undefined) sum.reasoningTokens = reasoning
  const cached = plus(a.cachedInputTokens, b.cachedInputTokens)
  if (cached !== undefined) sum.cachedInputTokens = cached
  const written = plus(a.cacheWriteTokens, b.cacheWriteTokens)
  if (written !== undefined) sum.cacheWriteTokens = written
  const cost = plus(a.cost, b.cost)
  if (cost !== undefined) sum.cost = cost
  return sum
}

function plus(a: number | undefined, b: number | undefined): number | undefined {
  return a === undefined ? b : a + (b ?? 0)
}

/**
 * The text of a message or tool result, without reasoning and media.
 * @example textOf([{ type: 'text', text: 'Hi' }]) // 'Hi'
 */
export function textOf(content: Content): string {
  if (typeof content === 'string') return content
  let text = ''
  for (const part of content) if (part.type === 'text') text += part.text
  return text
}
