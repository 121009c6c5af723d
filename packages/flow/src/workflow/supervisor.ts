import type { Agent } from '@troupe/kernel'
import { checkOptionNames } from '@troupe/kernel/kit'
import { flowOf } from '../tree/flow-agent.ts'
import { setSubAgents } from '../tree/set-sub-agents.ts'

/** Options of `supervisor`. */
export interface SupervisorOptions<Output = unknown> {
  readonly supervisor: Agent<Output>
  readonly agents: readonly Agent[]
}

/**
 * Makes an agent that transfers work to others; each of them returns to it by itself when it ends.
 * Contract: the return is an ordinary transfer in the events and in the history; an exit or an open question of an agent takes precedence.
 * @example supervisor({ supervisor: lead, agents: [researcher, coder] })
 */
export function supervisor<Output>(options: SupervisorOptions<Output>): Agent<Output> {
  checkOptionNames('supervisor', options, { supervisor: true, agents: true }, { subAgents: 'agents' })
  const { supervisor, agents } = options
  const lead = flowOf(setSubAgents(supervisor, agents))
  for (const node of lead.subAgents) node.returns = true
  return lead
}
