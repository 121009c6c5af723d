import type { Agent } from '@troupe/kernel'
import { checkOption } from '@troupe/kernel/kit'
import type { FlowOutcome } from '../tree/flow-outcome.ts'
import { inOrder, isSequenceState, type SequenceState } from './sequential.ts'
import { checkWorkflow, WORKFLOW_OPTIONS, type WorkflowOptions, workflow } from './workflow.ts'

/** Options of `loop`. */
export interface LoopOptions extends WorkflowOptions {
  /** The maximum number of iterations; after these the loop is complete. @default 10 */
  readonly maxIterations?: number
}

/**
 * Runs agents in order, repeatedly.
 * Contract: a break-loop action of an agent ends the innermost loop around it, an exit action ends all workflows; after `maxIterations` the loop is complete.
 * @example loop({ name: 'refine', agents: [writer, critic], maxIterations: 3 })
 */
export function loop(given: LoopOptions): Agent {
  checkWorkflow('loop', given, { ...WORKFLOW_OPTIONS, maxIterations: true })
  const { maxIterations = 10, ...options } = given
  const fine = Number.isInteger(maxIterations) && maxIterations >= 1
  checkOption(fine, `loop ${options.name}`, 'maxIterations must be a whole number from 1 on', maxIterations)
  return workflow<LoopState>(options, {
    kind: 'loop',
    async runAgents(stage, from) {
      for (let iteration = from?.iteration ?? 0; iteration < maxIterations; iteration++) {
        const pass = iteration === from?.iteration ? from.pass : undefined
        const outcome = ended(await inOrder(stage, pass, iteration), iteration)
        if (outcome) return outcome
      }
      return {}
    },
    isState(state, agents): state is LoopState {
      const { iteration = -1, pass } = (state ?? {}) as Partial<LoopState>
      return Number.isInteger(iteration) && iteration >= 0 && iteration < maxIterations && isSequenceState(pass, agents)
    },
    suspendedParts: ({ pass: { index, inner } }) => [{ index, state: inner }],
  })
}

/** How an iteration ends the loop; `undefined` if the next one follows. */
function ended({ suspended, action }: FlowOutcome, iteration: number): FlowOutcome | undefined {
  if (suspended) return { suspended: { ...suspended, state: { iteration, pass: suspended.state } } }
  if (!action) return undefined
  return action.type === 'break-loop' ? {} : { action }
}

type LoopState = { readonly iteration: number; readonly pass: SequenceState }
