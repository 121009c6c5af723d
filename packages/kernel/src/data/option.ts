import { got, isObject, KernelError } from './error.ts'

/**
 * Checks what somebody was configured with.
 * Contract: throws `CONFIG_INVALID` with `who: expected, got value` unless it is fine.
 * @example checkOption(typeof prefix === 'string', 'logging', 'prefix is a text', prefix)
 */
export function checkOption(fine: boolean, who: string, expected: string, value: unknown): void {
  if (!fine) throw new KernelError('CONFIG_INVALID', `${who}: ${expected}, ${got(value)}`)
}

/** The options of a factory by name; the type makes the list complete. */
export type OptionNames<Options> = { readonly [Name in keyof Required<Options>]: true }

/**
 * Refuses an option that does not exist, for those who write plain JavaScript.
 * Contract: throws `CONFIG_INVALID` with the nearest known name, or with all of them.
 * @example checkOptionNames('logging', options, { prefix: true, level: true })
 */
export function checkOptionNames<Options extends object>(
  who: string,
  options: Options,
  known: OptionNames<Options>,
): void {
  if (!isObject(options) || Array.isArray(options)) checkOption(false, who, 'expected an object of options', options)
  for (const [name, value] of Object.entries(options)) {
    if (Object.hasOwn(known, name) || value === undefined) continue
    throw new KernelError('CONFIG_INVALID', `${who}: unknown option ${name}; ${suggestion(name, Object.keys(known))}`)
  }
}

/**
 * What to say about a name that is not known.
 * @example suggestion('instructions', ['instruction', 'tools']) // 'did you mean instruction?'
 */
export function suggestion(name: string, known: readonly string[]): string {
  const near = nearest(name, known)
  return near === undefined ? `known are ${known.join(', ')}` : `did you mean ${near}?`
}

/** The known name that somebody most likely meant. */
export function nearest(name: string, known: readonly string[]): string | undefined {
  const plain = plainly(name)
  let best: string | undefined
  let least = Number.POSITIVE_INFINITY
  for (const candidate of known) {
    const distance = distanceOf(plain, plainly(candidate))
    if (distance < least) [best, least] = [candidate, distance]
  }
  return best
}

function plainly(name: string): string {
  return name.replaceAll(/[^a-zA-Z0-9]/g, '').toLowerCase()
}

/** Edits between two names, or the length of what one adds to the other; infinite where they have little in common. */
function distanceOf(a: string, b: string): number {
  const [shorter, longer] = a.length < b.length ? [a, b] : [b, a]
  if (shorter.length >= 4 && longer.startsWith(shorter)) return 1 + (longer.length - shorter.length) / 100
  const edits = editsBetween(a, b)
  return edits <= Math.max(1, Math.floor(longer.length / 3)) ? edits : Number.POSITIVE_INFINITY
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
