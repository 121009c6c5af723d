import type { ReactNode } from 'react'
import type { Thread } from '../thread/thread.ts'
import type { Labels } from '../view/labels.ts'
import { useLabels } from '../view/use-labels.ts'

/** An agent and the agents below it, as `describe` of `@troupe/flow` gives them. */
export interface AgentNode {
  readonly name: string
  readonly description: string
  /** The agents of a workflow. */
  readonly agents?: readonly AgentNode[]
  /** The agents that it can transfer to. */
  readonly subAgents?: readonly AgentNode[]
  readonly toParent?: 'transfer' | 'return'
}

/** The props of `<AgentTree>`. */
export interface AgentTreeProps {
  /** The agent that gets every message first. */
  readonly agent: AgentNode
  /** Agents that are called as tools. @default none */
  readonly tools?: readonly Pick<AgentNode, 'name' | 'description'>[]
  /** The thread whose active agents are highlighted. */
  readonly thread: Pick<Thread, 'runs'>
  readonly labels?: Partial<Labels>
}

/**
 * The agents, their transfers and the agents that are called as tools; active agents are highlighted.
 * @example const tree = <AgentTree agent={{ name: 'Desk', description: 'Helps.' }} thread={useThread({ url, threadId })} />
 */
export function AgentTree({ agent, tools = [], thread: { runs }, ...props }: AgentTreeProps): ReactNode {
  const labels = useLabels(props.labels)
  const ran = new Set(runs.flatMap(({ spans }) => spans.map(({ name }) => name)))
  const active = new Set(runs.at(-1)?.active)
  const lightOf = (name: string): Light => (active.has(name) ? 'on' : ran.has(name) ? 'was' : 'off')
  const shared = { lightOf, labels }
  return (
    <section className="troupe-tree">
      <h2>{labels.agents}</h2>
      <ul>
        <Node node={agent} how={labels.getsFirst} {...shared}>
          {tools.map((tool) => (
            <Node key={tool.name} node={tool} how={labels.calledAsTool} isTool {...shared} />
          ))}
        </Node>
      </ul>
    </section>
  )
}

/** Whether an agent is active, was active, or was not. */
type Light = 'on' | 'was' | 'off'

interface NodeProps {
  readonly node: AgentNode
  readonly how: string
  readonly isTool?: boolean
  readonly lightOf: (name: string) => Light
  readonly labels: Labels
  readonly children?: ReactNode
}

function Node({ node, how, isTool = false, lightOf, labels, children }: NodeProps): ReactNode {
  const { name, description, agents = [], subAgents = [] } = node
  const light = lightOf(name)
  const transfers = (each: AgentNode) => (each.toParent === 'transfer' ? labels.transfersBack : labels.getsTransfers)
  const below = [
    ...agents.map((each) => [each, labels.stepOfWorkflow] as const),
    ...subAgents.map((each) => [each, transfers(each)] as const),
  ]
  return (
    <li className="troupe-node" data-light={light} data-tool={isTool || undefined}>
      <div className="troupe-node-box">
        <h3>
          <span className="troupe-lamp" aria-hidden="true" /> {name}
        </h3>
        <p className="troupe-node-how">{light === 'on' ? labels.isRunning(how) : how}</p>
        <p>{description}</p>
      </div>
      {(below.length > 0 || children) && (
        <ul>
          {below.map(([each, way]) => (
            <Node key={each.name} node={each} how={way} lightOf={lightOf} labels={labels} />
          ))}
          {children}
        </ul>
      )}
    </li>
  )
}
