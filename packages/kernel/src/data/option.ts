import { got, isObject, KernelError } from './kernel-error.ts'

/**
 * Checks an option.
 * Contract: throws `CONFIG_INVALID` with `who: expected, got value` unless it is fine.
 * @example checkOption(typeof prefix === 'string', 'logging', 'prefix is a text', prefix)
 */
export function checkOption(fine: boolean, who: string, expected: string, value: unknown): void {
  if (!fine) throw new KernelError('CONFIG_INVALID', `${who}: ${expected}, ${got(value)}`)
}

/** The options of a factory by name; the type makes the list complete. */
export type OptionNames<Options> = { readonly [Name in keyof Required<Options>]: true }

/** Names that others use for an option: `{ execute: 'invoke' }`. */
export type OptionAliases<Options> = { readonly [name: string]: keyof Options & string }

/**
 * Refuses an unknown option, for callers without type checks.
 * Contract: throws `CONFIG_INVALID` with the nearest known name, or with all of them; an option that is undefined counts as absent; the instance of a class may have members of its own.
 * @example checkOptionNames('logging', options, { prefix: true, level: true })
 */
export function checkOptionNames<Options extends object>(
  who: string,
  options: Options,
  known: OptionNames<Options>,
  aliases?: OptionAliases<Options>,
): void {
  if (!isObject(options) || Array.isArray(options)) checkOption(false, who, 'expected an object of options', options)
  for (const name in options) {
    if (Object.hasOwn(known, name) || options[name] === undefined) continue
    if (!Object.hasOwn(options, name) || !isPlain(options)) continue
    throw new KernelError(
      'CONFIG_INVALID',
      `${who}: unknown option ${name}; ${hint(name, Object.keys(known), aliases)}`,
    )
  }
}

function isPlain(options: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(options)
  return prototype === null || Object.getPrototypeOf(prototype) === null
}

/** A hint for an unknown name that also knows the names of other frameworks. */
export function hint(name: string, known: readonly string[], aliases: Readonly<Record<string, string>> = {}): string {
  return Object.hasOwn(aliases, name) ? `did you mean ${aliases[name]}?` : suggestion(name, known)
}

/**
 * Returns a hint for an unknown name.
 * @example suggestion('instructions', ['instruction', 'tools']) // 'did you mean instruction?'
 */
export function suggestion(name: string, known: readonly string[]): string {
  const near = nearest(name, known)
  return near === undefined ? `known are ${known.join(', ')}` : `did you mean ${near}?`
}

/** The known name that was most likely meant. */
export function nearest(name: string, known: readonly string[]): string | undefined {
  let best: string | undefined
  let least = Number.POSITIVE_INFINITY
  for (const candidate of known) {
    const distance = distanceOf(name, candidate)
    if (distance < least) [best, least] = [candidate, distance]
  }
  return best
}

/** Whether a name is a known one with a typo or in another spelling. */
export function isMisspelt(name: string, known: readonly string[]): boolean {
  const plain = plainly(name)
  return known.some((one) => editsBetween(plain, plainly(one)) <= Math.floor(one.length / 5))
}

function plainly(name: string): string {
  return name.replaceAll(/[^a-zA-Z0-9]/g, '').toLowerCase()
}

/** Edits between two names, or the length of what one adds to the other; infinite where they have little in common. */
function distanceOf(name: string, candidate: string): number {
  const [a, b] = [plainly(name), plainly(candidate)]
  const [shorter, longer] = a.length < b.length ? [a, b] : [b, a]
  const added = 1 + (longer.length - shorter.length) / 100
  if (shorter.length >= 4 && (longer.startsWith(shorter) || isWithin(name, candidate))) return added
  const edits = editsBetween(a, b)
  return edits <= Math.max(1, Math.floor(longer.length / 3)) ? edits : Number.POSITIVE_INFINITY
}

/** Whether every word of a name is in the other: `wrapToolCall` in `wrapInvokableToolCall`. */
function isWithin(name: string, other: string): boolean {
  const [a, b] = [wordsOf(name), wordsOf(other)]
  return a.every((word) => b.includes(word)) || b.every((word) => a.includes(word))
}

function wordsOf(name: string): string[] {
  return name.split(/[^a-zA-Z0-9]+|(?<=[a-z0-9])(?=[A-Z])/).map((word) => word.toLowerCase())
}

function editsBetween(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, i) => i)
  for (let i = 1; i <= a.length; i++) {
    const next = [i]
    for (let j = 1; j <= b.length; j++) {
      const swap = (row[j - 1] as number) + (a[i - 1] === b[j - 1] ? 0 : 1)
      next.push(Math.min(swap, (row[j] as number) + 1, (next[j - 1] as number) + 1))
    }
    row = next
  }
  return row[b.length] as number
}
