import { KernelError } from '@troupe/kernel'
import { type FlowNode, isComposed, PARTS } from './flow-node.ts'
import { returning } from './returning.ts'
import { TRANSFER_TOOL, transferAdditions } from './transfer-tool.ts'

/** Prepares the transfers of all agents of a tree, which cannot be changed afterwards. */
export function freezeTree({ root }: FlowNode): void {
  if (root.frozen) return
  for (const node of root.nodes()) prepare(node)
  for (const node of root.nodes()) {
    node.frozen = true
    if (node.returns && node.parent) node.runnableAgent = returning(node.agent, node.parent.name)
  }
}

function prepare(node: FlowNode): void {
  const { targets, agent } = node
  if (isComposed(agent)) for (const part of agent[PARTS].agents) freezeTree(part)
  if (targets.length === 0) return
  if (!agent.acceptsAdditions || isComposed(agent)) throw cannotTransfer(node)
  node.additions = transferAdditions(targets)
}

function cannotTransfer({ name, subAgents }: FlowNode): KernelError {
  const why = subAgents.length > 0 ? 'it has sub-agents' : 'it has a parent'
  const message =
    `agent ${name}: takes no additions, so it cannot be given ${TRANSFER_TOOL}, but ${why}; ` +
    'set acceptsAdditions and use input.additions, or set disallowTransferToParent with agentWithOptions()'
  return new KernelError('ADDITIONS_UNSUPPORTED', message, { details: { agentName: name } })
}
