import type { Random } from '../random.ts'

/** Strings that break things: NUL, half of a surrogate pair, direction marks, names of prototypes, paths, very long ones. */
export const ODD_STRINGS: readonly string[] = [
  '',
  ' ',
  '\u0000',
  '\ud800',
  'a\udc00b',
  '\uffff',
  '💥',
  '\u202e',
  '\r\nx: y',
  '__proto__',
  'constructor',
  'toString',
  '../../etc/passwd',
  '%00',
  '-1',
  'a'.repeat(5_000),
  '💥'.repeat(300),
]
const ODD_NUMBERS = [0, -0, -1, 0.1, 1e21, 1e308, -1e308, 2 ** 53, 2 ** 63, 5e-324] as const

/** Any value of JSON. */
export function anything(random: Random, depth = 0): unknown {
  const kind = random.below(depth > 3 ? 6 : 8)
  if (kind < 2) return random.pick(ODD_STRINGS)
  if (kind === 2) return random.pick(ODD_NUMBERS)
  if (kind === 3) return random.pick([null, true, false])
  if (kind < 6) return random.pick([[], {}, 'text', 7])
  const size = random.below(4)
  if (kind === 6) return Array.from({ length: size }, () => anything(random, depth + 1))
  return Object.fromEntries(Array.from({ length: size }, () => [random.pick(ODD_STRINGS), anything(random, depth + 1)]))
}

/** The same value with something wrong at a random place, at any level. */
export function spoiled(random: Random, value: unknown): unknown {
  if (typeof value !== 'object' || value === null || random.chance(0.1)) return anything(random)
  const entries = Object.entries(value)
  if (entries.length === 0) return anything(random)
  const at = random.below(entries.length)
  const [key, inner] = entries[at] as [string, unknown]
  const changed = random.chance(0.15) ? undefined : spoiled(random, inner)
  if (Array.isArray(value)) {
    const list: unknown[] = [...value]
    list.splice(at, 1, ...(changed === undefined ? [] : random.chance(0.1) ? [changed, inner] : [changed]))
    return list
  }
  if (changed !== undefined) entries[at] = [key, changed]
  else entries.splice(at, 1)
  if (random.chance(0.2)) entries.push([random.pick(ODD_STRINGS), anything(random)])
  return Object.fromEntries(entries)
}

/** JSON as text with something wrong in it that `JSON.stringify` would not write. */
export function spoiledText(random: Random, text: string): string {
  const at = random.below(text.length + 1)
  switch (random.below(10)) {
    case 0:
      return text.slice(0, at)
    case 1:
      return (
        text.slice(0, at) +
        random.pick(['\u0000', '"', '{', ']', '\\', ',', '\\u', '\\ud800', '1e999']) +
        text.slice(at)
      )
    case 2:
      return text.replace('{', '{"__proto__":{"polluted":1},')
    case 3:
      return text.replace('{', '{"constructor":{"prototype":{"polluted":1}},')
    case 4:
      return text.replace(/"state":\{[^}]*\}/, `"state":${nested(random, 10_000)}`)
    case 5:
      return nested(random, 50_000)
    case 6:
      return text.replace('"messages":', `"messages":[],"messages":`)
    case 7:
      return `\ufeff${text}`
    case 8:
      return text.replace('{', `{"long":"${'x'.repeat(random.pick([90_000, 300_000, 1_100_000]))}",`)
    default:
      return text + text
  }
}

function nested(random: Random, most: number): string {
  const depth = 50 + random.below(most)
  return random.chance(0.5)
    ? `${'['.repeat(depth)}${']'.repeat(depth)}`
    : `${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`
}
