import {
  type Agent,
  type AgentEvent,
  type AgentInput,
  type EventDraft,
  type Json,
  KernelError,
  type PipeStream,
  type ResumeInfo,
  type RunContext,
  type Sink,
  stream,
} from '@troupe/kernel'
import { checkOption, checkOptionNames, got, type OptionAliases, type OptionNames } from '@troupe/kernel/kit'
import { FLOW_CONTEXT, type FlowContext, flowContextFor } from '../flow-context.ts'
import { flowOf } from '../tree/flow-agent.ts'
import { type Composed, type FlowNode, PARTS, type Parts } from '../tree/flow-node.ts'
import { type FlowOutcome, type Resumption, throwIfCancelled } from '../tree/flow-outcome.ts'
import { freezeTree } from '../tree/freeze-tree.ts'
import { runFlow } from '../tree/run-flow.ts'

/** Options of every workflow. */
export interface WorkflowOptions {
  readonly name: string
  /** @default the kind of the workflow and the names of its agents */
  readonly description?: string
  readonly agents: readonly Agent[]
}

/** The names of the options that every workflow has. */
export const WORKFLOW_OPTIONS: OptionNames<WorkflowOptions> = { name: true, description: true, agents: true }

/** Checks the names of options. Contract: throws `CONFIG_INVALID` for an option that this kind of workflow does not have. */
export function checkWorkflow<Options extends WorkflowOptions>(
  kind: string,
  options: Options,
  known: OptionNames<Options>,
  aliases: OptionAliases<Options> = { subAgents: 'agents', steps: 'agents', branches: 'agents' },
): void {
  checkOptionNames(options?.name ? `${kind} ${options.name}` : kind, options, known, aliases)
}

/** One run of a workflow. */
export class Stage {
  readonly ctx: RunContext
  readonly flowContext: FlowContext
  readonly sink: Sink<AgentEvent>
  readonly agents: readonly FlowNode[]
  readonly resumption: Resumption | undefined
  readonly #input: AgentInput

  constructor(parts: Parts, input: AgentInput, ctx: RunContext, sink: Sink<AgentEvent>) {
    this.agents = parts.agents
    this.#input = input
    this.ctx = ctx
    this.flowContext = flowContextFor(parts, input.messages, ctx)
    this.sink = sink
    this.resumption = 'answers' in input ? (input as ResumeInfo) : undefined
  }

  /** Runs one agent. Contract: rejects if it fails or is cancelled. */
  async runAgent(index: number, step: string, state?: Json, iteration?: number): Promise<FlowOutcome> {
    throwIfCancelled(this.ctx)
    const outcome = await this.tryAgent(index, this.contextAt(step, iteration), state, this.flowContext, this.sink)
    const { error } = outcome.end ?? {}
    if (error) throw KernelError.from(error)
    return outcome
  }

  /** Runs one agent. Contract: a failure that was reported is in the outcome. */
  tryAgent(
    index: number,
    ctx: RunContext,
    state: Json | undefined,
    flowContext: FlowContext,
    sink: Sink<AgentEvent>,
  ): Promise<FlowOutcome> {
    const { additions, options } = this.#input
    const answers = this.resumption?.answers ?? {}
    const input = {
      ...(additions && { additions }),
      ...(options && { options }),
      ...(state !== undefined && { state, answers }),
    }
    return runFlow(this.agents[index] as FlowNode, input, ctx.with(FLOW_CONTEXT, flowContext), sink)
  }

  /** Makes the context of one step of the workflow. */
  contextAt(step: string, iteration?: number): RunContext {
    const { runPath, agentName } = this.ctx
    return this.ctx.derive({ step, runPath: [...runPath, agentName], ...(iteration !== undefined && { iteration }) })
  }
}

/** How a kind of workflow runs its agents and what state it saves. */
interface WorkflowKind<State extends Json> {
  readonly kind: Parts['kind']
  /** Runs the agents, from the state in which it was suspended; the action of the outcome applies to the agents around it. */
  runAgents(stage: Stage, state: State | undefined): Promise<FlowOutcome>
  /** Whether this is a state of the workflow; its agents check their own states. */
  isState(state: Json, agents: number): state is State
  /** Gives the agents that were suspended. */
  suspendedParts(state: State): ReturnType<Parts['suspendedParts']>
}

/** Makes a workflow agent from its options and its kind. */
export function workflow<State extends Json>(
  { name, description, agents }: WorkflowOptions,
  { kind, runAgents, isState, suspendedParts }: WorkflowKind<State>,
): Composed {
  checkOption(typeof name === 'string' && name !== '', kind, 'expected a name', name)
  checkOption(Array.isArray(agents) && agents.length > 0, `${kind} ${name}`, 'expected a list of agents', agents)
  const flows = agents.map((agent) => flowOf(agent))
  for (const flow of flows) {
    if (flow.parent) {
      const message = `${kind} ${name}: ${flow.name} is a sub-agent of ${flow.parent.name}; use the whole tree, or the agent before it was made a sub-agent`
      throw new KernelError('CONFIG_INVALID', message)
    }
    flow.inWorkflow = true
  }
  const read = (state: Json): State => {
    const found = state as { readonly format?: unknown; readonly kind?: unknown; readonly state?: Json } | null
    const inner = found?.format === 1 && found.kind === kind ? found.state : undefined
    if (inner !== undefined && isState(inner, flows.length)) return inner
    throw new KernelError('CHECKPOINT_INVALID', `${kind} ${name}: expected a state of this workflow, ${got(state)}`)
  }
  const parts: Parts = { kind, agents: flows, suspendedParts: (state) => suspendedParts(read(state)) }
  const run = (input: AgentInput, ctx: RunContext): PipeStream<EventDraft> =>
    stream(async (sink) => {
      for (const flow of flows) freezeTree(flow)
      const stage = new Stage(parts, input, ctx, sink as Sink<AgentEvent>)
      const { suspended, action } = await runAgents(stage, stage.resumption && read(stage.resumption.state))
      if (suspended) {
        const state = { format: 1, kind, state: suspended.state }
        await sink.write({ type: 'action', action: { type: 'interrupt', ...suspended, state } })
      } else if (action) await sink.write({ type: 'action', action })
    })
  return {
    name,
    description: description ?? `${kind} of ${flows.map((flow) => flow.name).join(', ')}`,
    ...(flows.some(({ acceptsAdditions }) => acceptsAdditions) && { acceptsAdditions: true as const }),
    recordsSteps: true,
    [PARTS]: parts,
    run,
    resume: run,
  }
}
