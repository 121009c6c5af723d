import { checkKeys, misfit, type Place } from './misfit.ts'

/** Which tools an agent gets of those its caller has: names, or patterns in which `*` stands for any characters. */
export type ToolSelection =
  | readonly string[]
  | {
      /** @default [] */
      readonly allow?: readonly string[]
      /** Wins over `allow`. @default [] */
      readonly deny?: readonly string[]
    }

/** A selection with nothing left open. */
export interface ToolPatterns {
  readonly allow: readonly string[]
  readonly deny: readonly string[]
}

/** Contract: throws `CONFIG_INVALID` for what is no selection. */
export function toolPatterns(who: string, selection: ToolSelection): ToolPatterns {
  if (Array.isArray(selection)) return { allow: checkPatterns(who, ['tools'], selection), deny: [] }
  checkKeys(who, ['tools'], selection, ['allow', 'deny'])
  const { allow = [], deny = [] } = selection as Exclude<ToolSelection, readonly string[]>
  return {
    allow: checkPatterns(who, ['tools', 'allow'], allow),
    deny: checkPatterns(who, ['tools', 'deny'], deny),
  }
}

/** The same selection in the same form, which nobody else can change. Contract: throws `CONFIG_INVALID` for what is none. */
export function ownSelection(who: string, selection: ToolSelection): ToolSelection {
  const { allow, deny } = toolPatterns(who, selection)
  const own = (patterns: readonly string[]) => Object.freeze([...patterns])
  return Array.isArray(selection) ? own(allow) : Object.freeze({ allow: own(allow), deny: own(deny) })
}

/** Contract: throws `CONFIG_INVALID` for anything but a list of names and patterns. */
export function checkPatterns(who: string, place: Place, patterns: unknown): readonly string[] {
  if (!Array.isArray(patterns)) throw misfit(who, place, 'is a list of names', patterns)
  patterns.forEach((pattern, i) => {
    if (typeof pattern !== 'string' || pattern.trim() === '') {
      throw misfit(who, [...place, String(i)], 'is a name or a pattern', pattern)
    }
  })
  return patterns
}

/** Whether it is the name of one tool and no pattern. */
export function isName(pattern: string): boolean {
  return !pattern.includes('*')
}
