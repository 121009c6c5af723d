import type { About, AgentNode } from '../talk/server.ts'
import type { Trace } from '../talk/trace.ts'

/** The agents, who hands over to whom, and who is called like a tool; those at work are lit. */
export function AgentTree({ about, trace }: { readonly about: About; readonly trace: Trace }) {
  const ran = new Set(trace.runs.flatMap(({ spans }) => spans.map(({ name }) => name)))
  const { tree, tools } = about
  return (
    <section className="tree">
      <h2>Agents</h2>
      <ul>
        <Node node={tree} trace={trace} ran={ran} how="asked first">
          {tools.map((tool) => (
            <Node key={tool.name} node={tool} trace={trace} ran={ran} how="called like a tool" isTool />
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
          {light === 'on' && ', at work'}
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
              how={below.toParent === 'transfer' ? 'gets the word, and can give it back' : 'gets the word'}
            />
          ))}
          {children}
        </ul>
      )}
    </li>
  )
}
