import {
  type Agent,
  type AgentInput,
  type EventDraft,
  type PipeStream,
  type ResumeInfo,
  type RunContext,
  stream,
} from '@troupe/kernel'
import { checkAgent } from '@troupe/kernel/run'
import { FLOW_CONTEXT, flowContextFor } from '../flow-context.ts'
import { FlowNode } from './flow-node.ts'
import { runFlow } from './run-flow.ts'

/** A tree as an agent, which can be run wherever an agent can; a Runner runs the flow itself. */
export class FlowAgent<Output = unknown> extends FlowNode<Output> implements Agent<Output> {
  readonly observesItself = true

  run(input: AgentInput, ctx: RunContext): PipeStream<EventDraft> {
    return this.#stream(input, ctx)
  }

  resume(info: ResumeInfo, ctx: RunContext): PipeStream<EventDraft> {
    return this.#stream(info, ctx)
  }

  #stream(input: AgentInput | ResumeInfo, ctx: RunContext): PipeStream<EventDraft> {
    return stream(async (sink) => {
      const own = ctx.with(FLOW_CONTEXT, flowContextFor(this, input.messages, ctx))
      const { suspended } = await runFlow(this, input, own, sink)
      if (suspended) await sink.write({ type: 'action', action: { type: 'interrupt', ...suspended } })
    })
  }
}

/** Wraps an agent so that a flow can run it. */
export function flowOf<Output>(agent: Agent<Output>): FlowAgent<Output> {
  if (agent instanceof FlowAgent) return agent
  checkAgent(agent)
  return new FlowAgent(agent)
}
