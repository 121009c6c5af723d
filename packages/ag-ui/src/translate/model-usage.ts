import type { TokenUsage } from '@ag-ui/core'
import type { EventOf, Usage } from '@troupe/kernel'
import { addUsage } from '@troupe/kernel/kit'
import { usageOf } from './outcome-of.ts'

/** The tokens of a run by the model that used them. */
export class ModelUsage {
  readonly #models: Map<string, Usage> = new Map()

  add({ model, usage }: EventOf<'message-end'>): void {
    if (typeof model !== 'string' || !usage) return
    const before = this.#models.get(model)
    this.#models.set(model, before ? addUsage(before, usage) : usage)
  }

  /** An entry for each model, and one for tokens whose model is unknown. Contract: their sum is the total of the run; undefined if nothing was counted. */
  entries(total: Usage): TokenUsage[] | undefined {
    let rest = total
    const entries = [...this.#models].flatMap(([model, usage]) => {
      rest = without(rest, usage)
      return usageOf(usage)?.map((counts) => ({ model, ...counts })) ?? []
    })
    const others = usageOf(rest) ?? []
    const all = [...entries, ...others]
    return all.length > 0 ? all : undefined
  }
}

function without(total: Usage, part: Usage): Usage {
  const { reasoningTokens, cachedInputTokens, cacheWriteTokens } = total
  const left = (whole: number, some = 0) => Math.max(0, whole - some)
  return {
    inputTokens: left(total.inputTokens, part.inputTokens),
    outputTokens: left(total.outputTokens, part.outputTokens),
    ...(reasoningTokens !== undefined && { reasoningTokens: left(reasoningTokens, part.reasoningTokens) }),
    ...(cachedInputTokens !== undefined && { cachedInputTokens: left(cachedInputTokens, part.cachedInputTokens) }),
    ...(cacheWriteTokens !== undefined && { cacheWriteTokens: left(cacheWriteTokens, part.cacheWriteTokens) }),
  }
}
