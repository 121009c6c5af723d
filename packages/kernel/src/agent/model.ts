import type { FinishReason } from '../data/event.ts'
import { got, isObject, KernelError } from '../data/kernel-error.ts'
import type { AssistantMessage, FilePart, Message, ProviderMetadata, Usage } from '../data/message.ts'
import { checkOptionNames, type OptionNames } from '../data/option.ts'
import type { JsonSchema } from '../data/schema.ts'

/** A language model. */
export interface ChatModel {
  /** For usage rows and spans, e.g. `openai:gpt-5`. */
  readonly name: string
  /** Contract: throws a KernelError (`MODEL_…`, `retryable`) before or while streaming; aborting ends it promptly; the last part is `finish`. */
  stream(request: ModelRequest, options: { readonly signal: AbortSignal }): AsyncIterable<ModelPart>
}

/** Settings of one call. */
export type ModelOptions = {
  readonly temperature?: number
  readonly maxOutputTokens?: number
  readonly stopSequences?: readonly string[]
  readonly toolChoice?: 'auto' | 'none' | 'required' | { readonly tool: string }
  /** Structured output where the vendor has it. */
  readonly responseSchema?: JsonSchema
  /** Asks the vendor to keep what requests begin with, where it does not do so by itself: those of one `key` go together, `ttl` says how long it is kept unused. A model that knows no cache ignores it. */
  readonly cache?: { readonly key?: string; readonly ttl?: '5m' | '1h' }
  /** Passed through by provider name. */
  readonly provider?: ProviderMetadata
}

/** A tool as a model sees it. */
export type ToolSpec = { readonly name: string; readonly description: string; readonly parameters: JsonSchema }

/** Everything a model call depends on. Contract: plain JSON. */
export type ModelRequest = {
  readonly instruction: string
  /** Contract: without the instruction; every call in it has its result. */
  readonly messages: readonly Message[]
  readonly tools: readonly ToolSpec[]
  readonly options: ModelOptions
  /** Its position in the run, the whole path: `model:<turn>` under the step of the agent. */
  readonly step: string
  readonly idempotencyKey: string
}

/** A piece of an answer. Contract: tool calls may interleave with text; each is start, delta…, end; an empty delta begins a part that only has metadata. */
export type ModelPart =
  | { readonly type: 'text-delta'; readonly delta: string }
  | { readonly type: 'reasoning-delta'; readonly delta: string }
  /** Closes the open text or reasoning part, with the metadata that the provider needs back. */
  | { readonly type: 'part-end'; readonly encrypted?: string; readonly metadata?: ProviderMetadata }
  | { readonly type: 'file'; readonly file: FilePart }
  | { readonly type: 'tool-call-start'; readonly callId: string; readonly name: string }
  | { readonly type: 'tool-call-delta'; readonly callId: string; readonly delta: string }
  | { readonly type: 'tool-call-end'; readonly callId: string; readonly metadata?: ProviderMetadata }
  /** A retry or failover: discards the earlier parts of this call. */
  | { readonly type: 'restart' }
  | {
      readonly type: 'finish'
      readonly reason: FinishReason
      readonly usage: Usage
      readonly model?: string
      readonly metadata?: ProviderMetadata
    }

/** A collected answer. */
export type ModelResult = {
  readonly message: AssistantMessage
  readonly usage: Usage
  readonly finishReason: FinishReason
  readonly model: string
}

const MODEL_OPTIONS: OptionNames<ModelOptions> = {
  temperature: true,
  maxOutputTokens: true,
  stopSequences: true,
  toolChoice: true,
  responseSchema: true,
  cache: true,
  provider: true,
}
const ALIASES = { maxTokens: 'maxOutputTokens', stop: 'stopSequences', providerOptions: 'provider' } as const

/**
 * Checks the settings of model calls.
 * Contract: throws `CONFIG_INVALID` for a setting that does not exist.
 * @example checkModelOptions('agent weather: modelOptions', { temperature: 0 })
 */
export function checkModelOptions(who: string, options: ModelOptions): void {
  checkOptionNames(who, options, MODEL_OPTIONS, ALIASES)
}

/**
 * Checks that something is a chat model.
 * Contract: throws `CONFIG_INVALID`; for an AI SDK model, or its name, the message says how to wrap it.
 * @example checkModel('agent weather', 'model', model)
 */
export function checkModel(who: string, option: string, model: unknown): asserts model is ChatModel {
  if (isObject(model) && typeof model.stream === 'function' && typeof model.name === 'string') return
  throw new KernelError('CONFIG_INVALID', `${who}: ${option} ${wrongWith(model)}`)
}

function wrongWith(model: unknown): string {
  if (isAiSdkModel(model)) return 'is an AI SDK model; wrap it: aiSdkModel(model) from @troupe/model-ai-sdk'
  if (typeof model !== 'string') return `is a ChatModel, an object with a name and stream(), ${got(model)}`
  return `is a ChatModel and not its name, ${got(model)}; wrap a provider's model: aiSdkModel(openai('gpt-5')) from @troupe/model-ai-sdk`
}

function isAiSdkModel(model: unknown): boolean {
  if (!isObject(model)) return false
  return (
    'specificationVersion' in model || typeof model.doStream === 'function' || typeof model.doGenerate === 'function'
  )
}
