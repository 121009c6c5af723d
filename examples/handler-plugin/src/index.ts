import type { AgentHandler } from '@troupe/kernel'
import { checkOptionNames } from '@troupe/kernel/kit'

/** How loud it gets. */
export interface ShoutOptions {
  /** @default '!' */
  readonly suffix?: string
}

/**
 * Asks the model to answer in capitals.
 * @example shout({ suffix: '!!!' })
 */
export function shout(options: ShoutOptions = {}): AgentHandler {
  checkOptionNames('shout', options, { suffix: true })
  const { suffix = '!' } = options
  return {
    name: 'shout',
    beforeAgent(_ctx, config) {
      config.instruction += `\nAnswer in capitals and end with ${suffix}`
    },
  }
}
