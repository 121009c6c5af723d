import type { ToolKind } from '@troupe/kernel'
import { suggestion } from '@troupe/kernel/kit'
import type { GuardedNames } from '../execute/environment.ts'
import { compileName, compilePath, type MakeError } from './agent-path.ts'

/** Says of each pattern of a rule for which there is no agent or no tool, with the nearest name. */
export function unmatchedPatterns(
  agents: readonly string[] | undefined,
  tools: readonly string[] | undefined,
  kinds: readonly string[] | undefined,
  known: GuardedNames,
): readonly string[] {
  const problems: string[] = []
  for (const pattern of agents ?? []) {
    const missing = pattern.split('/').find((name) => name !== '' && name !== '**' && !isOneOf(name, known.agents))
    if (missing !== undefined)
      problems.push(`agent ${JSON.stringify(pattern)}: ${nearest('agent', missing, known.agents)}`)
  }
  const names = known.tools
    .filter(({ kind }) => kinds?.includes(kind satisfies ToolKind) ?? true)
    .map(({ name }) => name)
  for (const pattern of tools ?? []) {
    const matches = compileName(pattern, never)
    if (!names.some(matches)) problems.push(`tool ${JSON.stringify(pattern)}: ${nearest('tool', pattern, names)}`)
  }
  return problems
}

function isOneOf(pattern: string, agents: readonly string[]): boolean {
  const matches = compilePath(pattern, never)
  return agents.some((name) => matches([name]))
}

function nearest(what: string, name: string, known: readonly string[]): string {
  const unique = [...new Set(known)]
  return unique.length === 0 ? `there is no ${what}` : `there is no such ${what}; ${suggestion(name, unique)}`
}

/** The patterns were checked when the rule was compiled. */
const never: MakeError = (expected) => {
  throw new Error(expected)
}
