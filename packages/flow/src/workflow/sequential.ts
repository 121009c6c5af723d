import type { Agent, Json } from '@troupe/kernel'
import type { Ending } from '../tree/ending.ts'
import { checkWorkflow, type Stage, WORKFLOW, type WorkflowOptions, workflow } from './workflow.ts'

/** How a sequence is made. */
export type SequentialOptions = WorkflowOptions

/**
 * Runs agents one after the other; each sees what those before it said.
 * Contract: an exit or break-loop action ends it early, a failure ends it with that failure.
 * @example sequential({ name: 'report', agents: [researcher, writer] })
 */
export function sequential(options: SequentialOptions): Agent {
  checkWorkflow('sequential', options, WORKFLOW)
  return workflow(options, {
    kind: 'sequential',
    perform: (stage, state) => inOrder(stage, '', state),
    isState: isPass,
    inside: ({ index, inner }) => [{ index, state: inner }],
  })
}

/** Where a pass through the agents of a workflow stood. */
export type Pass = { readonly index: number; readonly inner: Json }

export function isPass(state: Json | undefined, agents: number): state is Pass {
  const { index, inner } = (state ?? {}) as Partial<Pass>
  return Number.isInteger(index) && index !== undefined && index >= 0 && index < agents && inner !== undefined
}

/** One pass through the agents of a workflow, from where it stood. */
export async function inOrder(stage: Stage, prefix: string, from: Pass | undefined): Promise<Ending> {
  for (let index = from?.index ?? 0; index < stage.agents.length; index++) {
    const ending = await stage.play(index, `${prefix}branch:${index}`, index === from?.index ? from.inner : undefined)
    const { suspended, action } = ending
    if (suspended) return { suspended: { ...suspended, state: { index, inner: suspended.state } } }
    if (action) return { action }
  }
  return {}
}
