import { KernelError } from '@troupe/kernel'
import { got } from '@troupe/kernel/kit'
import { compileGlob } from '../glob.ts'
import { matchSegments } from './match-segments.ts'

const WRITTEN: Record<string, string> = { '%': '%25', '/': '%2F', '*': '%2A' }
const ESCAPES = Object.values(WRITTEN)

/** Escapes a name for identities and patterns: `/`, `*` and `%` become `%2F`, `%2A` and `%25`, so that a name is never read as a path or a pattern. */
export function writtenName(name: string): string {
  return name.replace(/[%/*]/g, (character) => WRITTEN[character] ?? character)
}

/**
 * Joins the names that lead to an agent into its identity.
 * @example identityOf(['a', 'b']) // 'a/b'
 */
export function identityOf(path: readonly string[]): string {
  return path.map(writtenName).join('/')
}

/** Gives a frozen copy of a path. Contract: throws `CONFIG_INVALID` unless it is a list of names. */
export function checkPath(who: string, path: readonly string[]): readonly string[] {
  const list: unknown = path
  const fine = Array.isArray(list) && list.every((name) => typeof name === 'string' && name !== '')
  if (!fine) throw new KernelError('CONFIG_INVALID', `${who}: path must be a list of names, ${got(list)}`)
  return Object.freeze([...path])
}

/** Makes the error for an invalid pattern from what was expected. */
export type MakeError = (expected: string) => KernelError

/** Compiles a pattern for one name; a `/` in it is a character like any other. */
export function compileName(pattern: string, makeError: MakeError): (name: string) => boolean {
  const matches = compileGlob(normal(pattern.replaceAll('/', '%2F'), makeError))
  return (name) => matches(writtenName(name))
}

/** Compiles a pattern for paths: `*` within a name, `**` for any number of names, none included; '' is the main agent. */
export function compilePath(pattern: string, makeError: MakeError): (path: readonly string[]) => boolean {
  const parts = pattern === '' ? [] : pattern.split('/')
  if (parts.includes('')) throw makeError('must have a name before and after each slash')
  const names = parts.map((part) => (part === '**' ? undefined : compileGlob(normal(part, makeError))))
  return (path) => matchSegments(names, path.map(writtenName))
}

function normal(pattern: string, makeError: MakeError): string {
  return pattern.replace(/%[\s\S]{0,2}/g, (written) => {
    const upper = written.toUpperCase()
    if (!ESCAPES.includes(upper)) throw makeError('must write % as %25, and / and * in a name as %2F and %2A')
    return upper
  })
}
