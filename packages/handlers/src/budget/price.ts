import type { Usage } from '@troupe/kernel'

/** Gives what the tokens of one call cost; undefined if it does not know the model. */
export type Price = (model: string, usage: Usage) => number | undefined

/** The part of `calcPrice` of `@pydantic/genai-prices` that is needed. */
export type CalcPrice = (
  usage: { readonly [unit: string]: number | undefined },
  modelId: string,
  options?: { readonly providerId?: string },
) => { readonly total_price: number } | null

/**
 * Prices in US dollars by the list of `@pydantic/genai-prices`, which knows the models of most vendors.
 * Contract: reads models as they name themselves, with or without their vendor in front: `openai:gpt-5`.
 * @example budget({ price: genaiPrices(calcPrice) })
 */
export function genaiPrices(calcPrice: CalcPrice): Price {
  return (model, usage) => {
    const { inputTokens, outputTokens, cachedInputTokens = 0, cacheWriteTokens = 0 } = usage
    // The list refuses more cached tokens than there are.
    const read = Math.min(cachedInputTokens, inputTokens)
    const tokens = {
      input_tokens: inputTokens,
      output_tokens: outputTokens,
      cache_read_tokens: read,
      cache_write_tokens: Math.min(cacheWriteTokens, inputTokens - read),
    }
    const colon = model.indexOf(':')
    const vendor = colon > 0 ? { providerId: providerOf(model.slice(0, colon)) } : undefined
    const found = vendor && calcPrice(tokens, model.slice(colon + 1), vendor)
    return (found ?? calcPrice(tokens, vendor ? model.slice(colon + 1) : model))?.total_price
  }
}

/** The vendor of a model without the kind of its interface: `openai.responses` is `openai`. */
function providerOf(vendor: string): string {
  return vendor.split('.')[0] ?? vendor
}
