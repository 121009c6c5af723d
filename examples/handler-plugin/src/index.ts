import type { AgentHandler } from '@troupe/kernel'

/** How loud it gets. */
export interface ShoutOptions {
  /** @default '!' */
  readonly suffix?: string
}

/**
 * Asks the model to answer in capitals.
 * @example shout({ suffix: '!!!' })
 */
export function shout({ suffix = '!' }: ShoutOptions = {}): AgentHandler {
  return {
    name: 'shout',
    beforeAgent(_ctx, config) {
      config.instruction += `\nAnswer in capitals and end with ${suffix}`
    },
  }
}
