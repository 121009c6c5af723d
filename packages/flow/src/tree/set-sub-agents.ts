import { type Agent, KernelError } from '@troupe/kernel'
import { checkOption, checkOptionNames, got } from '@troupe/kernel/kit'
import { flowOf } from './flow-agent.ts'
import { type FlowNode, type FlowOptions, isComposed } from './flow-node.ts'

/**
 * Declares the agents that an agent can transfer to, and gives the agent to run.
 * Contract: can be called again with another list until the tree runs for the first time; an agent has one parent and appears once in its tree.
 * @example const agent = setSubAgents(router, [chatAgent, weatherAgent])
 */
export function setSubAgents<Output>(parent: Agent<Output>, subAgents: readonly Agent[]): Agent<Output> {
  const flow = flowOf(parent)
  checkOption(Array.isArray(subAgents), `setSubAgents of ${flow.name}`, 'expected a list of agents', subAgents)
  const children = subAgents.map((agent) => flowOf(agent))
  for (const node of [flow, ...children]) checkOpen(node)
  for (const child of children) {
    if (child.parent && child.parent !== flow) {
      const message = `setSubAgents of ${flow.name}: an agent has one parent, and ${child.name} is a sub-agent of ${child.parent.name}`
      throw new KernelError('CONFIG_INVALID', message)
    }
    if (child.inWorkflow) {
      throw new KernelError(
        'CONFIG_INVALID',
        `setSubAgents of ${flow.name}: ${child.name} is part of a workflow; use a separate agent`,
      )
    }
    if ([...child.reach()].some((node) => node === flow || node === flow.root))
      throw new KernelError('CONFIG_INVALID', `setSubAgents of ${flow.name}: ${child.name} is above it in the tree`)
  }
  checkNames(
    [...flow.root.nodes()].filter((node) => !flow.subAgents.some((old) => [...old.nodes()].includes(node))),
    children,
  )
  for (const child of flow.subAgents) {
    child.parent = undefined
    child.returns = false
  }
  for (const child of children) child.parent = flow
  flow.subAgents = children
  return flow
}

/**
 * Sets how an agent behaves in its tree.
 * @example setSubAgents(router, [agentWithOptions(weatherAgent, { disallowTransferToParent: true })])
 */
export function agentWithOptions<Output>(agent: Agent<Output>, options: FlowOptions): Agent<Output> {
  const flow = flowOf(agent)
  checkOpen(flow)
  const who = `agentWithOptions of ${flow.name}`
  checkOption(typeof options === 'object' && options !== null, who, 'expected options', options)
  checkOptionNames(who, options, {
    disallowTransferToParent: true,
    historyRewriter: true,
    skipTransferMessages: true,
  })
  const { historyRewriter } = options
  const isRewriter = historyRewriter === undefined || typeof historyRewriter === 'function'
  checkOption(isRewriter, who, 'historyRewriter must be a function', historyRewriter)
  if (isComposed(flow.agent) && (options.historyRewriter || options.skipTransferMessages)) {
    throw new KernelError(
      'CONFIG_INVALID',
      `${who}: a workflow does not have a history of its own; set historyRewriter and skipTransferMessages on its agents`,
    )
  }
  flow.options = { ...flow.options, ...options }
  return flow
}

function checkOpen({ frozen, name }: FlowNode): void {
  if (!frozen) return
  throw new KernelError('TREE_FROZEN', `agent ${name}: its tree has already run and cannot be changed; build a new one`)
}

/** Contract: names are unique in a tree, because transfers, checkpoints and open calls go by name. */
function checkNames(kept: readonly FlowNode[], children: readonly FlowNode[]): void {
  const names = new Set<string>()
  for (const { name } of [...kept, ...children.flatMap((child) => [...child.nodes()])]) {
    if (names.has(name)) {
      throw new KernelError(
        'CONFIG_INVALID',
        `setSubAgents: agent names are unique in a tree, ${got(name)} twice; rename one of the agents`,
      )
    }
    names.add(name)
  }
}
