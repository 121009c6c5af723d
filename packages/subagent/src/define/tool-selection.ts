import { checkKeys, configError } from './config-error.ts'

/** The tools an agent gets, out of those its caller has: names, or patterns in which `*` stands for any characters. */
export type ToolSelection =
  | readonly string[]
  | {
      /** @default [] */
      readonly allow?: readonly string[]
      /** Wins over `allow`. @default [] */
      readonly deny?: readonly string[]
    }

/** A tool selection in its full form. */
interface ToolPatterns {
  readonly allow: readonly string[]
  readonly deny: readonly string[]
}

/** Gives a selection in its full form. Contract: throws `CONFIG_INVALID` for an invalid one. */
export function toolPatterns(who: string, selection: ToolSelection): ToolPatterns {
  if (Array.isArray(selection)) return { allow: checkPatterns(who, ['tools'], selection), deny: [] }
  checkKeys(who, ['tools'], selection, ['allow', 'deny'])
  const { allow = [], deny = [] } = selection as Exclude<ToolSelection, readonly string[]>
  return {
    allow: checkPatterns(who, ['tools', 'allow'], allow),
    deny: checkPatterns(who, ['tools', 'deny'], deny),
  }
}

/** Makes a frozen copy of a selection in the same form. Contract: throws `CONFIG_INVALID` for an invalid one. */
export function ownSelection(who: string, selection: ToolSelection): ToolSelection {
  const { allow, deny } = toolPatterns(who, selection)
  const own = (patterns: readonly string[]) => Object.freeze([...patterns])
  return Array.isArray(selection) ? own(allow) : Object.freeze({ allow: own(allow), deny: own(deny) })
}

/** Contract: throws `CONFIG_INVALID` unless it is a list of names and patterns. */
export function checkPatterns(who: string, path: readonly string[], patterns: unknown): readonly string[] {
  if (!Array.isArray(patterns)) throw configError(who, path, 'must be a list of names', patterns)
  patterns.forEach((pattern, i) => {
    if (typeof pattern !== 'string' || pattern.trim() === '') {
      throw configError(who, [...path, String(i)], 'must be a name or a pattern', pattern)
    }
  })
  return patterns
}

/** Returns whether it is the name of one tool and not a pattern. */
export function isName(pattern: string): boolean {
  return !pattern.includes('*')
}
