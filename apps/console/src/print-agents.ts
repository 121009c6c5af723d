import { type AgentDescription, mermaid } from '@troupe/flow'

/** The tree of agents, to read and to paste into a Mermaid viewer. */
export function printAgents(tree: AgentDescription): string {
  return `${[label(tree), ...branches(tree, '')].join('\n')}\n\n${mermaid(tree)}\n`
}

function branches({ agents = [], subAgents = [] }: AgentDescription, indent: string): string[] {
  const below = [...agents, ...subAgents]
  return below.flatMap((node, i) => {
    const last = i === below.length - 1
    return [`${indent}${last ? '└─' : '├─'} ${label(node)}`, ...branches(node, `${indent}${last ? '   ' : '│  '}`)]
  })
}

function label({ name, kind, description }: AgentDescription): string {
  return `${kind === 'agent' ? '' : `${kind} `}${name}: ${description}`
}
