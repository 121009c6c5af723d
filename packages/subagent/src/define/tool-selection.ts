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

/**
 * Whether a name fits a pattern; every character but `*` stands for itself.
 * Contract: takes time in proportion to both lengths, whatever the pattern.
 * @example matchesPattern('read_*', 'read_file') // true
 */
export function matchesPattern(pattern: string, name: string): boolean {
  const [first = '', ...rest] = pattern.split('*')
  const last = rest.pop()
  if (last === undefined) return pattern === name
  if (name.length < first.length + last.length || !name.startsWith(first) || !name.endsWith(last)) return false
  let from = first.length
  const end = name.length - last.length
  for (const piece of rest) {
    const found = name.indexOf(piece, from)
    if (found === -1 || found + piece.length > end) return false
    from = found + piece.length
  }
  return true
}
