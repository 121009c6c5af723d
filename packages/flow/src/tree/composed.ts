import type { Agent, Json } from '@troupe/kernel'
import type { FlowAgent } from './flow-agent.ts'

/** Marks an agent that is composed of other agents, which a flow runs. */
export const PARTS: unique symbol = Symbol.for('troupe.flow.parts') as never

/** The parts of a composed agent. */
export interface Parts {
  readonly kind: 'sequential' | 'parallel' | 'loop'
  readonly agents: readonly FlowAgent[]
  /** Gives the agents that were suspended, with their states. Contract: throws `CHECKPOINT_INVALID` if the state does not belong to this agent. */
  suspendedParts(state: Json): readonly { readonly index: number; readonly state: Json }[]
}

/** An agent that is composed of others. Contract: its parts record their own messages; it does not have a model that could transfer. */
export interface Composed extends Agent {
  readonly [PARTS]: Parts
}

export function isComposed(agent: Agent): agent is Composed {
  return PARTS in agent
}
