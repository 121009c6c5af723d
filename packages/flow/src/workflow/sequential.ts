import type { Agent, Json } from '@troupe/kernel'
import type { FlowOutcome } from '../tree/flow-outcome.ts'
import { checkWorkflow, type Stage, WORKFLOW_OPTIONS, type WorkflowOptions, workflow } from './workflow.ts'

/**
 * Runs agents one after the other; each sees the messages of those before it.
 * Contract: an exit or break-loop action ends it early, a failure ends it with that failure.
 * @example sequential({ name: 'report', agents: [researcher, writer] })
 */
export function sequential(options: WorkflowOptions): Agent {
  checkWorkflow('sequential', options, WORKFLOW_OPTIONS)
  return workflow(options, {
    kind: 'sequential',
    runAgents: (stage, state) => inOrder(stage, state),
    isState: isSequenceState,
    suspendedParts: ({ index, inner }) => [{ index, state: inner }],
  })
}

/** The suspended agent of a sequence and its state. */
export type SequenceState = { readonly index: number; readonly inner: Json }

export function isSequenceState(state: Json | undefined, agents: number): state is SequenceState {
  const { index, inner } = (state ?? {}) as Partial<SequenceState>
  return Number.isInteger(index) && index !== undefined && index >= 0 && index < agents && inner !== undefined
}

/** Runs the agents of a workflow once, in order, from the agent that was suspended. */
export async function inOrder(stage: Stage, from: SequenceState | undefined, iteration?: number): Promise<FlowOutcome> {
  const prefix = iteration === undefined ? '' : `loop:${iteration}/`

  for (let index = from?.index ?? 0; index < stage.agents.length; index++) {
    const outcome = await stage.runAgent(
      index,
      `${prefix}branch:${index}`,
      index === from?.index ? from.inner : undefined,
      iteration,
    )
    const { suspended, action } = outcome
    if (suspended) return { suspended: { ...suspended, state: { index, inner: suspended.state } } }
    if (action) return { action }
  }
  return {}
}
