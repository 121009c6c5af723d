import type { Agent, Json } from '@troupe/kernel'
import type { FlowAgent } from './flow-agent.ts'

/** The mark of an agent that is made of agents which a flow runs. */
export const PARTS: unique symbol = Symbol.for('troupe.flow.parts') as never

/** What such an agent is made of. */
export interface Parts {
  readonly kind: 'sequential' | 'parallel' | 'loop'
  readonly agents: readonly FlowAgent[]
  /** Which of them were suspended, and where they stood. Contract: throws `CHECKPOINT_INVALID` for what is not its state. */
  suspendedParts(state: Json): readonly { readonly index: number; readonly state: Json }[]
}

/** An agent that is made of others. Contract: they record what they say themselves; it has no model that could hand over. */
export interface Composed extends Agent {
  readonly [PARTS]: Parts
}

export function isComposed(agent: Agent): agent is Composed {
  return PARTS in agent
}
