import type {
  LanguageModelV4CallOptions,
  LanguageModelV4FunctionTool,
  LanguageModelV4ToolChoice,
} from '@ai-sdk/provider'
import type { ModelOptions, ModelRequest, ToolSpec } from '@troupe/kernel'
import { mergeMetadata } from './metadata.ts'
import { toPrompt } from './prompt.ts'
import type { ResponseFormat } from './schema/response-format.ts'
import { toolSchema } from './schema/tool-schema.ts'

/** Settings of every call of a model. */
export type CallDefaults = Omit<
  LanguageModelV4CallOptions,
  'prompt' | 'tools' | 'toolChoice' | 'responseFormat' | 'abortSignal' | 'includeRawChunks'
>

/** Converts a request for the AI SDK; its settings win over the defaults. Contract: `namespaces` are the keys under which the provider reads its options. */
export function toCallOptions(
  request: ModelRequest,
  defaults: CallDefaults,
  lateSystemRole: 'system' | 'user',
  abortSignal: AbortSignal,
  format?: ResponseFormat,
  namespaces: readonly string[] = [],
): LanguageModelV4CallOptions {
  const { temperature, maxOutputTokens, stopSequences, toolChoice, provider } = request.options
  const { providerOptions: defaultOptions, ...rest } = defaults
  const asked = mergeMetadata(defaultOptions as ModelOptions['provider'], provider)
  const { loose } = format ?? {}
  const providerOptions = mergeMetadata(
    loose && Object.fromEntries(namespaces.map((namespace) => [namespace, loose])),
    asked,
  )
  return {
    ...rest,
    prompt: toPrompt(request, lateSystemRole),
    abortSignal,
    ...(temperature !== undefined && { temperature }),
    ...(maxOutputTokens !== undefined && { maxOutputTokens }),
    ...(stopSequences && { stopSequences: [...stopSequences] }),
    ...(format && { responseFormat: { type: 'json', schema: format.schema } }),
    ...(providerOptions && { providerOptions }),
    // Vendors refuse a tool choice without tools.
    ...(request.tools.length > 0 && {
      tools: request.tools.map(toTool),
      ...(toolChoice && { toolChoice: toChoice(toolChoice) }),
    }),
  }
}

function toTool({ name, description, parameters }: ToolSpec): LanguageModelV4FunctionTool {
  return { type: 'function', name, description, inputSchema: toolSchema(parameters) }
}

function toChoice(choice: NonNullable<ModelOptions['toolChoice']>): LanguageModelV4ToolChoice {
  return typeof choice === 'string' ? { type: choice } : { type: 'tool', toolName: choice.tool }
}
