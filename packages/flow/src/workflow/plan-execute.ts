import type { Agent } from '@troupe/kernel'
import { checkOptionNames } from '@troupe/kernel/kit'
import { loop } from './loop.ts'
import { sequential } from './sequential.ts'

/** Options of `planExecute`. */
export interface PlanExecuteOptions {
  readonly name: string
  readonly description?: string
  /** Makes the plan. */
  readonly planner: Agent
  /** Carries out the next step of the plan. */
  readonly executor: Agent
  /** Checks the result: changes the plan, or ends the loop with `breakLoopTool()`. */
  readonly replanner: Agent
  /** The maximum number of steps. @default 10 */
  readonly maxIterations?: number
}

/**
 * Plans once, then carries out a step and replans until the replanner breaks the loop.
 * @example planExecute({ name: 'travel', planner, executor, replanner })
 */
export function planExecute(given: PlanExecuteOptions): Agent {
  checkOptionNames(given?.name ? `planExecute ${given.name}` : 'planExecute', given, {
    name: true,
    description: true,
    planner: true,
    executor: true,
    replanner: true,
    maxIterations: true,
  })
  const { planner, executor, replanner, maxIterations, ...options } = given
  const steps = loop({
    name: `${options.name}-steps`,
    agents: [executor, replanner],
    ...(maxIterations !== undefined && { maxIterations }),
  })
  return sequential({ ...options, agents: [planner, steps] })
}
