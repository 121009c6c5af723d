import type { AgentHandler } from '@troupe/kernel'

/** A handler broken on purpose, the clause that must notice, and its words. */
export interface HandlerMutant {
  readonly handler: () => Partial<AgentHandler>
  readonly caught: string
  readonly says?: RegExp
}

/** Broken handlers by what is wrong with them. */
export type HandlerMutants = { readonly [wrong: string]: HandlerMutant }
