import { type Agent, got, type Json, KernelError } from '@troupe/kernel'
import { inOrder, placeIn } from './sequential.ts'
import { type WorkflowOptions, workflow } from './workflow.ts'

/** How a loop is made. */
export interface LoopOptions extends WorkflowOptions {
  /** How often its agents run at most; then it is complete. @default 10 */
  readonly maxIterations?: number
}

/**
 * Runs agents in order, again and again.
 * Contract: a break-loop action of any of them ends the innermost loop around it, an exit action ends all; after `maxIterations` it is complete.
 * @example loop({ name: 'refine', agents: [writer, critic], maxIterations: 3 })
 */
export function loop({ maxIterations = 10, ...options }: LoopOptions): Agent {
  if (!Number.isInteger(maxIterations) || maxIterations < 1) {
    throw new KernelError(
      'CONFIG_INVALID',
      `loop ${options.name}: maxIterations is a positive integer, ${got(maxIterations)}`,
    )
  }
  return workflow(options, {
    kind: 'loop',
    async perform(stage, state) {
      const from = state as Place | undefined
      for (let iteration = from?.iteration ?? 0; iteration < maxIterations; iteration++) {
        const inner = iteration === from?.iteration ? from.inner : undefined
        const { suspended, action } = await inOrder(stage, `loop:${iteration}/`, inner)
        if (suspended) return { suspended: { ...suspended, state: { iteration, inner: suspended.state } } }
        if (action) return action.type === 'break-loop' ? {} : { action }
      }
      return {}
    },
    inside: (state) => placeIn((state as Place).inner),
  })
}

type Place = { readonly iteration: number; readonly inner: Json }
