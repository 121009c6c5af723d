import { KernelError, type Tool } from '@troupe/kernel'
import type { AgentDefinition } from '../define/define-agent.ts'
import { isName, toolPatterns } from '../define/tool-selection.ts'
import { compileNames } from '../glob.ts'
import type { Environment, ToolGuard } from './environment.ts'

/** The position of an agent in the tree of agents that call each other. */
export interface AgentPosition {
  /** The names from the outermost agent to this one. */
  readonly path: readonly string[]
  /** The names of its caller's tools; absent, which means all, if the caller is not a sub-agent. */
  readonly granted?: ReadonlySet<string>
  /** The guards of callers from other environments, which apply beside the environment's own. */
  readonly guards?: readonly ToolGuard[]
}

/** The tools and agents that an agent may call. */
interface ChildTools {
  /** Tools and definitions of agents, by name. */
  readonly found: ReadonlyMap<string, Tool | AgentDefinition>
  /** The names it asks for and does not get, with the reason. */
  readonly unresolved: readonly { readonly name: string; readonly why: string }[]
}

/**
 * Selects the tools of an agent: those it allows and does not deny, out of its caller's.
 * Contract: patterns match tools only; other agents have to be named one by one.
 */
export function childTools(definition: AgentDefinition, env: Environment, { granted }: AgentPosition): ChildTools {
  const { allow, deny } = toolPatterns(`agent ${definition.name}`, definition.tools ?? [])
  const found = new Map<string, Tool | AgentDefinition>()
  const unresolved: { name: string; why: string }[] = []
  const isDenied = compileNames(deny)
  const isGranted = (name: string) => granted?.has(name) ?? true
  const addMatching = (pattern: string) => {
    const matches = compileNames([pattern])
    for (const [name, tool] of env.tools) {
      if (matches(name) && isGranted(name) && !isDenied(name)) found.set(name, tool)
    }
  }
  const addNamed = (name: string) => {
    const known = env.tools.get(name) ?? env.agent(name)
    if (!known) unresolved.push({ name, why: 'there is no such tool or agent' })
    else if (isDenied(name)) return
    else if (!isGranted(name)) unresolved.push({ name, why: 'its caller does not have it' })
    else found.set(name, known)
  }
  for (const pattern of allow) {
    if (isName(pattern)) addNamed(pattern)
    else addMatching(pattern)
  }
  return { found, unresolved }
}

/** Makes the warning about names that an agent does not get. */
export function unresolvedTools(path: readonly string[], unresolved: ChildTools['unresolved']): KernelError {
  const list = unresolved.map(({ name, why }) => `${name} (${why})`).join(', ')
  return new KernelError('SUBAGENT_TOOLS_UNRESOLVED', `agent ${path.join('/')}: does not get ${list}`, {
    details: { path, names: unresolved.map(({ name }) => name) },
  })
}
