import { type Agent, checkOptionNames } from '@troupe/kernel'
import { loop } from './loop.ts'
import { sequential } from './sequential.ts'

/** How a plan-execute agent is made. */
export interface PlanExecuteOptions {
  readonly name: string
  readonly description?: string
  /** Makes the plan. */
  readonly planner: Agent
  /** Carries out the next step of it. */
  readonly executor: Agent
  /** Looks at what came of it: changes the plan, or ends the loop with `breakLoopTool()`. */
  readonly replanner: Agent
  /** How many steps at most. @default 10 */
  readonly maxIterations?: number
}

/**
 * Plans once, then carries out and plans anew until the replanner breaks the loop.
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
