import { type Additions, type Agent, type Json, KernelError } from '@troupe/kernel'
import type { HistoryRewriter } from './rewrite-history.ts'
import type { SavedPosition } from './saved-position.ts'

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
export class FlowNode<Output = unknown> {
  readonly agent: Agent<Output>
  readonly acceptsAdditions?: true
  options: FlowOptions
  /** Whether it returns to its parent by itself; its model does not know about it. */
  returns = false
  /** Whether it is part of a workflow; the agents of a workflow do not transfer to each other. */
  inWorkflow = false
  parent: FlowNode | undefined
  subAgents: readonly FlowNode[] = []
  /** The tool and instruction for transfers; set when the tree is frozen. */
  additions: Required<Additions> | undefined
  /** The agent that is actually run: `agent`, or its wrapper that returns to the parent; set when the tree is frozen. */
  runnableAgent: Agent
  /** Whether the tree has run and cannot be changed any more. */
  frozen = false

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

  get root(): FlowNode {
    let node: FlowNode = this
    while (node.parent) node = node.parent
    return node
  }

  /** Finds the agent at a position. Contract: throws `CHECKPOINT_INVALID` if it is not in the tree. */
  at({ agent }: SavedPosition): FlowNode {
    const node = this.find(agent)
    if (node) return node
    throw new KernelError('CHECKPOINT_INVALID', `flow ${this.name}: agent '${agent}' is no longer in the tree`)
  }

  /** Finds the target of a transfer. Contract: throws `TRANSFER_TARGET_UNKNOWN`; its message is part of the design of transfers. */
  target(name: string): FlowNode {
    const { options, parent, subAgents } = this
    const child = subAgents.find((node) => node.name === name)
    if (child) return child
    if (parent?.name === name && (this.returns || !options.disallowTransferToParent)) return parent
    const message = `transfer failed: agent '${name}' not found when transferring from '${this.name}'`
    throw new KernelError('TRANSFER_TARGET_UNKNOWN', message, { details: { from: this.name, to: name } })
  }

  /** Finds an agent of the tree by name. */
  find(name: string): FlowNode | undefined {
    if (name === this.name) return this
    for (const node of this.root.nodes()) if (node.name === name) return node
    return undefined
  }

  /** Yields this agent and all agents below it. */
  *nodes(): Generator<FlowNode> {
    yield this
    for (const node of this.subAgents) yield* node.nodes()
  }

  /** Yields this agent and all agents below it or inside its workflows. */
  *reach(seen: Set<FlowNode> = new Set()): Generator<FlowNode> {
    if (seen.has(this)) return
    seen.add(this)
    yield this
    for (const node of this.subAgents) yield* node.reach(seen)
    if (isComposed(this.agent)) for (const part of this.agent[PARTS].agents) yield* part.reach(seen)
  }

  /** The agents that its model may transfer to. */
  get targets(): readonly FlowNode[] {
    const { agent, parent, options, subAgents } = this
    const upward = !this.returns && !options.disallowTransferToParent && !isComposed(agent)
    return parent && upward ? [...subAgents, parent] : subAgents
  }
}

/** Marks an agent that is composed of other agents, which a flow runs. */
export const PARTS: unique symbol = Symbol.for('troupe.flow.parts') as never

/** The parts of a composed agent. */
export interface Parts {
  readonly kind: 'sequential' | 'parallel' | 'loop'
  readonly agents: readonly FlowNode[]
  /** Gives the agents that were suspended, with their states. Contract: throws `CHECKPOINT_INVALID` if the state does not belong to this agent. */
  suspendedParts(state: Json): readonly { readonly index: number; readonly state: Json }[]
}

/** An agent that is composed of others. Contract: its parts record their own messages; it does not have a model that could transfer. */
export interface Composed extends Agent {
  readonly [PARTS]: Parts
}

export function isComposed(agent: Agent): agent is Composed {
  return PARTS in agent
}
