import type { LanguageModelV4CallOptions, LanguageModelV4Message } from '@ai-sdk/provider'
import type { ModelOptions, ProviderMetadata } from '@troupe/kernel'
import { mergeMetadata } from './metadata.ts'

type Cache = NonNullable<ModelOptions['cache']>

/**
 * Adds to the options of a call what its vendor needs to cache the prompt: marks for Anthropic and Bedrock, a key for OpenAI.
 * Contract: marks the end of the instruction (or the tools), of the prompt before and of this one, so that one of the four marks that vendors take
 * is left to the caller; an own `cacheControl` or key of the caller stays as it is. Other vendors cache by themselves or not at all.
 */
export function withCacheMarks(
  provider: string,
  cache: Cache | undefined,
  options: LanguageModelV4CallOptions,
): LanguageModelV4CallOptions {
  if (!cache) return options
  const given = options.providerOptions as ProviderMetadata | undefined
  const mark = markOf(provider, cache)
  if (mark) return given?.anthropic?.cacheControl === undefined ? marked(options, mark) : options
  const isOpenAi = provider.startsWith('openai.') || provider.startsWith('azure')
  if (!isOpenAi || cache.key === undefined) return options
  const providerOptions = mergeMetadata({ openai: { promptCacheKey: cache.key } }, given)
  return { ...options, ...(providerOptions && { providerOptions }) }
}

/** The mark of vendors that need one. */
function markOf(provider: string, { ttl }: Cache): ProviderMetadata | undefined {
  if (provider.includes('anthropic')) {
    return { anthropic: { cacheControl: { type: 'ephemeral', ...(ttl && { ttl }) } } }
  }
  return provider.includes('bedrock') ? { bedrock: { cachePoint: { type: 'default' } } } : undefined
}

function marked(options: LanguageModelV4CallOptions, mark: ProviderMetadata): LanguageModelV4CallOptions {
  const { prompt, tools } = options
  const systemEnd = prompt.findIndex(({ role }) => role !== 'system')
  const system = (systemEnd < 0 ? prompt.length : systemEnd) - 1
  // What the answer before was written to: a vendor looks only a few blocks back for what it has cached.
  const before = prompt.findLastIndex(({ role }) => role === 'assistant') - 1
  const places = new Set([system, before, prompt.length - 1])
  const withMark = <T extends { readonly providerOptions?: LanguageModelV4CallOptions['providerOptions'] }>(
    one: T,
  ): T => {
    const merged = mergeMetadata(mark, one.providerOptions as ProviderMetadata | undefined)
    return { ...one, ...(merged && { providerOptions: merged }) }
  }
  const lastTool = tools?.at(-1)
  return {
    ...options,
    prompt: prompt.map((message, i): LanguageModelV4Message => (places.has(i) ? withMark(message) : message)),
    ...(system < 0 && lastTool?.type === 'function' && { tools: [...(tools ?? []).slice(0, -1), withMark(lastTool)] }),
  }
}
