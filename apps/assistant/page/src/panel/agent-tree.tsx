import type { About, AgentNode } from '../conversation/server.ts'
import type { Trace } from '../conversation/trace.ts'

/** The agents, their transfers and the agents that are called as tools; active agents are highlighted. */
export function AgentTree({ about, trace }: { readonly about: About; readonly trace: Trace }) {
  const ran = new Set(trace.runs.flatMap(({ spans }) => spans.map(({ name }) => name)))
  const { tree, tools } = about
  return (
    <section className="tree">
      <h2>Agents</h2>
      <ul>
        <Node node={tree} trace={trace} ran={ran} how="gets every message first">
          {tools.map((tool) => (
            <Node key={tool.name} node={tool} trace={trace} ran={ran} how="called as a tool" isTool />
          ))}
        </Node>
      </ul>
    </section>
  )
}

interface NodeProps {
  readonly node: AgentNode
  readonly trace: Trace
  readonly ran: ReadonlySet<string>
  readonly how: string
  readonly isTool?: boolean
  readonly children?: React.ReactNode
}

function Node({ node, trace, ran, how, isTool = false, children }: NodeProps) {
  const { name, description, subAgents = [] } = node
  const light = trace.active.has(name) ? 'on' : ran.has(name) ? 'was' : 'off'
  return (
    <li className="node" data-light={light} data-tool={isTool}>
      <div className="node-box">
        <h3>
          <span className="lamp" aria-hidden="true" /> {name}
        </h3>
        <p className="node-how">
          {how}
          {light === 'on' && ', running'}
        </p>
        <p>{description}</p>
      </div>
      {(subAgents.length > 0 || children) && (
        <ul>
          {subAgents.map((below) => (
            <Node
              key={below.name}
              node={below}
              trace={trace}
              ran={ran}
              how={below.toParent === 'transfer' ? 'gets transfers, and can transfer back' : 'gets transfers'}
            />
          ))}
          {children}
        </ul>
      )}
    </li>
  )
}
