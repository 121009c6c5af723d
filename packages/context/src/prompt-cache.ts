import type { AgentHandler } from '@troupe/kernel'
import { checkOption, checkOptionNames } from '@troupe/kernel/kit'

/** Options of `promptCache`. */
export interface PromptCacheOptions {
  /** How long the vendor keeps a prompt that is not used, if it gives the choice. @default '5m' */
  readonly ttl?: '5m' | '1h'
}

const WHO = 'promptCache'
/** Vendors take no longer key. */
const MAX_KEY = 64

/**
 * Lets vendors cache what the requests of a thread begin with.
 * Contract: sets `cache` of the model options, with the thread as its key; what the run or its caller has set stays.
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
      const cache = { key: session.threadId.slice(-MAX_KEY), ...(ttl && { ttl }) }
      config.runOptions = { ...config.runOptions, model: { cache, ...model } }
    },
  }
}
