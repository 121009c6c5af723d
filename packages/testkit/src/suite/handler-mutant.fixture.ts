import type { AgentHandler } from '@troupe/kernel'

/** Handlers broken on purpose, by what is wrong with them: each with the clause that must notice, and its words. */
export type HandlerMutants = {
  readonly [wrong: string]: {
    readonly handler: () => Partial<AgentHandler>
    readonly caught: string
    readonly says?: RegExp
  }
}
