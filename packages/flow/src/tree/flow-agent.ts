import {
  type Additions,
  type Agent,
  type AgentEvent,
  type AgentInput,
  type EventDraft,
  KernelError,
  type PipeStream,
  type ResumeInfo,
  type RunContext,
  stream,
} from '@troupe/kernel'
import { FLOW_CONTEXT, flowContextFor } from '../flow-context.ts'
import { isComposed, PARTS } from './composed.ts'
import type { Resumption } from './flow-outcome.ts'
import { returning } from './returning.ts'
import type { HistoryRewriter } from './rewrite-history.ts'
import { runFlow } from './run-flow.ts'
import type { SavedPosition } from './saved-position.ts'
import { TRANSFER_TOOL, transferAdditions } from './transfer-tool.ts'

/** How an agent behaves in its tree. */
export interface FlowOptions {
  /** The agent cannot transfer to its parent: the tool and the instruction do not offer it, and the flow refuses it. @default false */
  readonly disallowTransferToParent?: boolean
  /** Makes the history this agent sees. @default rewriteHistory */
  readonly historyRewriter?: HistoryRewriter
  /** Leaves the messages of transfers out of the history this agent sees. @default false */
  readonly skipTransferMessages?: boolean
}

/** An agent as a node of a tree. Contract: its mutable members change only until the tree is frozen. */
export class FlowAgent<Output = unknown> implements Agent<Output> {
  readonly agent: Agent<Output>
  readonly observesItself = true
  readonly acceptsAdditions?: true
  options: FlowOptions
  /** Whether it returns to its parent by itself; its model does not know about it. */
  returns = false
  /** Whether it is part of a workflow; the agents of a workflow do not transfer to each other. */
  inWorkflow = false
  parent: FlowAgent | undefined
  subAgents: readonly FlowAgent[] = []
  /** The tool and instruction for transfers; set when the tree is frozen. */
  additions: Required<Additions> | undefined
  /** The agent that is actually run: `agent`, or its wrapper that returns to the parent; set when the tree is frozen. */
  runnableAgent: Agent
  #frozen = false

  constructor(agent: Agent<Output>, options: FlowOptions = {}) {
    this.agent = agent
    this.runnableAgent = agent
    this.options = options
    if (agent.acceptsAdditions) this.acceptsAdditions = true
  }

  get name(): string {
    return this.agent.name
  }

  get description(): string {
    return this.agent.description
  }

  get frozen(): boolean {
    return this.#frozen
  }

  get root(): FlowAgent {
    let node: FlowAgent = this
    while (node.parent) node = node.parent
    return node
  }

  run(input: AgentInput, ctx: RunContext): PipeStream<EventDraft> {
    return this.#stream(input, ctx)
  }

  resume(info: ResumeInfo, ctx: RunContext): PipeStream<EventDraft> {
    return this.#stream(info, ctx, { state: info.state, answers: info.answers })
  }

  #stream(
    { messages, additions, options }: AgentInput,
    ctx: RunContext,
    resumption?: Resumption,
  ): PipeStream<AgentEvent> {
    return stream(async (sink) => {
      const flowContext = flowContextFor(this, messages, ctx)
      const own = ctx.get(FLOW_CONTEXT) === flowContext ? ctx : ctx.with(FLOW_CONTEXT, flowContext)
      const { suspended } = await runFlow(this, { ctx: own, flowContext, additions, options, resumption }, sink)
      if (!suspended || (flowContext.ephemeral && suspended.interrupts.length === 0)) return
      const { runId, runPath } = ctx
      const { interrupts, state } = suspended
      const action = { type: 'interrupt', interrupts, ...(!flowContext.ephemeral && { state }) } as const
      await sink.write({ type: 'action', runId, agentName: this.name, runPath, action })
    })
  }

  /** Finds the agent at a position. Contract: throws `CHECKPOINT_INVALID` if it is not in the tree. */
  at({ agent }: SavedPosition): FlowAgent {
    const node = this.find(agent)
    if (node) return node
    throw new KernelError('CHECKPOINT_INVALID', `flow ${this.name}: agent '${agent}' is no longer in the tree`)
  }

  /** Finds the target of a transfer. Contract: throws `TRANSFER_TARGET_UNKNOWN`; its message is part of the design of transfers. */
  target(name: string): FlowAgent {
    const { options, parent, subAgents } = this
    const child = subAgents.find((node) => node.name === name)
    if (child) return child
    if (parent?.name === name && (this.returns || !options.disallowTransferToParent)) return parent
    const message = `transfer failed: agent '${name}' not found when transferring from '${this.name}'`
    throw new KernelError('TRANSFER_TARGET_UNKNOWN', message, { details: { from: this.name, to: name } })
  }

  /** Finds an agent of the tree by name. */
  find(name: string): FlowAgent | undefined {
    if (name === this.name) return this
    for (const node of this.root.nodes()) if (node.name === name) return node
    return undefined
  }

  /** Yields this agent and all agents below it. */
  *nodes(): Generator<FlowAgent> {
    yield this
    for (const node of this.subAgents) yield* node.nodes()
  }

  /** Yields this agent and all agents below it or inside its workflows. */
  *reach(seen: Set<FlowAgent> = new Set()): Generator<FlowAgent> {
    if (seen.has(this)) return
    seen.add(this)
    yield this
    for (const node of this.subAgents) yield* node.reach(seen)
    if (isComposed(this.agent)) for (const part of this.agent[PARTS].agents) yield* part.reach(seen)
  }

  /** The agents that its model may transfer to. */
  get targets(): readonly FlowAgent[] {
    const { agent, parent, options, subAgents } = this
    const upward = !this.returns && !options.disallowTransferToParent && !isComposed(agent)
    return parent && upward ? [...subAgents, parent] : subAgents
  }

  /** Prepares the transfers of all agents; the tree cannot be changed afterwards. */
  freeze(): void {
    if (this.#frozen) return
    for (const node of this.nodes()) {
      const { targets, agent } = node
      if (isComposed(agent)) for (const part of agent[PARTS].agents) part.root.freeze()
      if (targets.length > 0) {
        if (!agent.acceptsAdditions || isComposed(agent)) throw cannotTransfer(node)
        node.additions = transferAdditions(targets)
      }
    }
    for (const node of this.nodes()) {
      node.#frozen = true
      if (node.returns && node.parent) node.runnableAgent = returning(node.agent, node.parent.name)
    }
  }
}

function cannotTransfer({ name, subAgents }: FlowAgent): KernelError {
  const why = subAgents.length > 0 ? 'it has sub-agents' : 'it has a parent'
  const message =
    `agent ${name}: takes no additions, so it cannot be given ${TRANSFER_TOOL}, but ${why}; ` +
    'set acceptsAdditions and use input.additions, or set disallowTransferToParent with agentWithOptions()'
  return new KernelError('ADDITIONS_UNSUPPORTED', message, { details: { agentName: name } })
}
