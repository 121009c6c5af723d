import type { AgentHandler } from '@troupe/kernel'

/** Tells the model the name of the user. */
export function userName(name: string): AgentHandler {
  return {
    name: 'user-name',
    beforeAgent(_ctx, config) {
      config.instruction += `\nThe name of the user is ${name}.`
    },
  }
}
