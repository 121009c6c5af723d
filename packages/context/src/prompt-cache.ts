import type { AgentHandler, ThreadRef } from '@troupe/kernel'
import { checkOption, checkOptionNames } from '@troupe/kernel/kit'

/** Options of `promptCache`. */
export interface PromptCacheOptions {
  /** How long the vendor keeps a prompt that is not used, if it gives the choice. @default '5m' */
  readonly ttl?: '5m' | '1h'
}

const WHO = 'promptCache'

/**
 * Lets vendors cache what the requests of a thread begin with.
 * Contract: sets `cache` of the model options, with a hash of the thread as its key; what the run or its caller has set stays.
 * @example chatModelAgent({ name: 'guide', model, handlers: [promptCache()] })
 */
export function promptCache(options: PromptCacheOptions = {}): AgentHandler {
  checkOptionNames(WHO, options, { ttl: true })
  const { ttl } = options
  checkOption(ttl === undefined || ttl === '5m' || ttl === '1h', WHO, "ttl must be '5m' or '1h'", ttl)
  return {
    name: WHO,
    beforeAgent({ session }, config) {
      const { model } = config.runOptions
      const cache = { key: keyOf(session), ...(ttl && { ttl }) }
      config.runOptions = { ...config.runOptions, model: { cache, ...model } }
    },
  }
}

/** A key of a thread that does not tell the vendor its name: a hash of 53 bits, which is enough to tell threads apart. */
function keyOf({ app, user, threadId }: ThreadRef): string {
  let [high, low] = [0xdeadbeef, 0x41c6ce57]
  const text = JSON.stringify([app, user, threadId])
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i)
    high = Math.imul(high ^ unit, 2_654_435_761)
    low = Math.imul(low ^ unit, 1_597_334_677)
  }
  high = Math.imul(high ^ (high >>> 16), 2_246_822_507) ^ Math.imul(low ^ (low >>> 13), 3_266_489_909)
  low = Math.imul(low ^ (low >>> 16), 2_246_822_507) ^ Math.imul(high ^ (high >>> 13), 3_266_489_909)
  return `troupe-${(2 ** 32 * (low & 0x1f_ffff) + (high >>> 0)).toString(36)}`
}
