import { type Agent, checkOptionNames } from '@troupe/kernel'
import { flowOf, setSubAgents } from '../tree/set-sub-agents.ts'

/** How a supervisor is made. */
export interface SupervisorOptions<Output = unknown> {
  readonly supervisor: Agent<Output>
  readonly agents: readonly Agent[]
}

/**
 * An agent that hands work to others and gets the word back when they are done, whether or not they say so.
 * Contract: the way back is an ordinary transfer in the events and in the history; an exit or an open question of an agent goes first.
 * @example supervisor({ supervisor: lead, agents: [researcher, coder] })
 */
export function supervisor<Output>(options: SupervisorOptions<Output>): Agent<Output> {
  checkOptionNames('supervisor', options, { supervisor: true, agents: true }, { subAgents: 'agents' })
  const { supervisor, agents } = options
  const lead = flowOf(setSubAgents(supervisor, agents))
  for (const node of lead.subAgents) node.returns = true
  return lead
}
