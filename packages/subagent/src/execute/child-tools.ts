import { KernelError, type Tool } from '@troupe/kernel'
import type { AgentDefinition } from '../define/define-agent.ts'
import { isName, toolPatterns } from '../define/tool-selection.ts'
import { compileNames } from '../glob.ts'
import type { Environment } from './environment.ts'

/** Where an agent stands in the tree of agents that call each other. */
export interface Position {
  /** The names from the outermost agent to this one. */
  readonly path: readonly string[]
  /** The names its caller has; everything where the caller is no sub-agent. */
  readonly granted?: ReadonlySet<string>
}

/** What an agent may call. */
export interface ChildTools {
  /** By name: a tool, or the definition of an agent that is one. */
  readonly found: ReadonlyMap<string, Tool | AgentDefinition>
  /** What it asks for by name and does not get, with the reason. */
  readonly unresolved: readonly { readonly name: string; readonly why: string }[]
}

/**
 * The tools of an agent: what it allows and does not deny, of what its caller has.
 * Contract: patterns choose among the tools; other agents are named one by one.
 */
export function childTools(definition: AgentDefinition, env: Environment, { granted }: Position): ChildTools {
  const { allow, deny } = toolPatterns(`agent ${definition.name}`, definition.tools ?? [])
  const found = new Map<string, Tool | AgentDefinition>()
  const unresolved: { name: string; why: string }[] = []
  const denied = compileNames(deny)
  const has = (name: string) => granted?.has(name) ?? true
  for (const pattern of allow) {
    if (!isName(pattern)) {
      const chosen = compileNames([pattern])
      for (const [name, tool] of env.tools) {
        if (chosen(name) && has(name) && !denied(name)) found.set(name, tool)
      }
      continue
    }
    const known = env.tools.get(pattern) ?? env.agent(pattern)
    if (!known) unresolved.push({ name: pattern, why: 'there is no such tool or agent' })
    else if (denied(pattern)) continue
    else if (!has(pattern)) unresolved.push({ name: pattern, why: 'its caller does not have it' })
    else found.set(pattern, known)
  }
  return { found, unresolved }
}

/** The warning about names that came to nothing. */
export function unresolvedTools(path: readonly string[], unresolved: ChildTools['unresolved']): KernelError {
  const list = unresolved.map(({ name, why }) => `${name} (${why})`).join(', ')
  return new KernelError('SUBAGENT_TOOLS_UNRESOLVED', `agent ${path.join('/')}: does not get ${list}`, {
    details: { path, names: unresolved.map(({ name }) => name) },
  })
}
