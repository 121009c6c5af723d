import { got, KernelError } from '@troupe/kernel'
import { compileGlob } from '../glob.ts'

const WRITTEN: Record<string, string> = { '%': '%25', '/': '%2F', '*': '%2A' }
const ESCAPES = Object.values(WRITTEN)

/** A name as it stands in identities and patterns: `/`, `*` and `%` are written `%2F`, `%2A` and `%25`, so that no name can pass for a path or a pattern. */
export function writtenName(name: string): string {
  return name.replace(/[%/*]/g, (character) => WRITTEN[character] ?? character)
}

/**
 * Who an agent is, by the names that led to it.
 * @example identityOf(['a', 'b']) // 'a/b'
 */
export function identityOf(path: readonly string[]): string {
  return path.map(writtenName).join('/')
}

/** Contract: throws `CONFIG_INVALID` for what is no path of names; gives a copy that nobody else can change. */
export function checkPath(who: string, path: readonly string[]): readonly string[] {
  const list: unknown = path
  const fine = Array.isArray(list) && list.every((name) => typeof name === 'string' && name !== '')
  if (!fine) throw new KernelError('CONFIG_INVALID', `${who}: path is a list of names, ${got(list)}`)
  return Object.freeze([...path])
}

/** Makes the error of a pattern that is none: what was expected. */
export type Wrong = (expected: string) => KernelError

/** Compiles a pattern for one name; a `/` in it is a character like any other. */
export function compileName(pattern: string, wrong: Wrong): (name: string) => boolean {
  const matches = compileGlob(normal(pattern.replaceAll('/', '%2F'), wrong))
  return (name) => matches(writtenName(name))
}

/** Compiles a pattern for paths: `*` within a name, `**` for any number of names, none included; '' is the main agent. */
export function compilePath(pattern: string, wrong: Wrong): (path: readonly string[]) => boolean {
  const parts = pattern === '' ? [] : pattern.split('/')
  if (parts.includes('')) throw wrong('has a name before and after each slash')
  const names = parts.map((part) => (part === '**' ? undefined : compileGlob(normal(part, wrong))))
  return (path) => walk(names, path.map(writtenName))
}

/** `undefined` stands for `**`. */
type NamePattern = ((name: string) => boolean) | undefined

/** Pattern by pattern over all names, so that many `**` cost no more than one. */
function walk(patterns: readonly NamePattern[], names: readonly string[]): boolean {
  let none = true
  let reached = names.map(() => false)
  for (const matches of patterns) {
    const next: boolean[] = []
    for (const [i, name] of names.entries()) {
      const before = i === 0 ? none : reached[i - 1] === true
      const covered = reached[i] === true || (i === 0 ? none : next[i - 1] === true)
      next.push(matches ? before && matches(name) : covered)
    }
    if (matches) none = false
    reached = next
  }
  return names.length === 0 ? none : reached.at(-1) === true
}

function normal(pattern: string, wrong: Wrong): string {
  return pattern.replace(/%[\s\S]{0,2}/g, (written) => {
    const upper = written.toUpperCase()
    if (!ESCAPES.includes(upper)) throw wrong('writes % as %25, and / and * in a name as %2F and %2A')
    return upper
  })
}
