import type { Agent } from '@troupe/kernel'
import { FlowNode, isComposed, PARTS } from './flow-node.ts'

/** An agent and the agents it works with, as data. */
export type AgentDescription = {
  readonly name: string
  readonly description: string
  readonly kind: 'agent' | 'sequential' | 'parallel' | 'loop'
  /** The agents of a workflow, in order. */
  readonly agents?: readonly AgentDescription[]
  /** The sub-agents it can transfer to. */
  readonly subAgents?: readonly AgentDescription[]
  /** How it gets back to its parent: its model transfers, or it returns by itself. */
  readonly toParent?: 'transfer' | 'return'
}

/**
 * Gives the tree of an agent as data.
 * @example console.log(mermaid(describe(agent)))
 */
export function describe(agent: Agent): AgentDescription {
  return describeNode(agent)
}

function describeNode(agent: Agent | FlowNode): AgentDescription {
  const flow = agent instanceof FlowNode ? agent : undefined
  const own = agent instanceof FlowNode ? agent.agent : agent
  const { name, description } = own
  const parts = isComposed(own) ? own[PARTS] : undefined
  const subAgents = flow?.subAgents ?? []
  return {
    name,
    description,
    kind: parts?.kind ?? 'agent',
    ...(parts && { agents: parts.agents.map(describeNode) }),
    ...(subAgents.length > 0 && { subAgents: subAgents.map(describeNode) }),
    ...(flow?.parent && wayBack(flow, flow.parent)),
  }
}

function wayBack(flow: FlowNode, parent: FlowNode): Pick<AgentDescription, 'toParent'> {
  if (flow.returns) return { toParent: 'return' }
  return flow.targets.includes(parent) ? { toParent: 'transfer' } : {}
}

/** Draws a description as a Mermaid diagram: thin arrows are transfers, thick ones steps of a workflow, dotted ones lead back to the parent. */
export function mermaid(description: AgentDescription): string {
  const lines: string[] = ['flowchart TD']
  let count = 0
  const draw = (node: AgentDescription): string => {
    const id = `a${count++}`
    lines.push(`  ${id}${shape(node)}`)
    let before = id
    for (const part of node.agents ?? []) {
      const child = draw(part)
      lines.push(`  ${before} ==> ${child}`)
      if (node.kind !== 'parallel') before = child
    }
    if (node.kind === 'loop') lines.push(`  ${before} ==>|again| ${id}`)
    for (const sub of node.subAgents ?? []) {
      const child = draw(sub)
      lines.push(`  ${id} --> ${child}`)
      if (sub.toParent) lines.push(`  ${child} -.->|${sub.toParent}| ${id}`)
    }
    return id
  }
  draw(description)
  return lines.join('\n')
}

function shape({ name, kind }: AgentDescription): string {
  const label = name
    .replaceAll(/\s+/g, ' ')
    .replaceAll('&', '#amp;')
    .replaceAll('"', '#quot;')
    .replaceAll('<', '#lt;')
    .replaceAll('>', '#gt;')
  return kind === 'agent' ? `["${label}"]` : `[["${kind}: ${label}"]]`
}
