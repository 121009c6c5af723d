/**
 * One text for all JSON values that a program cannot tell apart: keys in order, no spaces.
 * Contract: written as text all the way, so that a key like `__proto__` is a key and nothing else.
 * @example canonicalJson({ b: 1, a: [] }) // '{"a":[],"b":1}'
 */
export function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map((item) => canonicalJson(item)).join(',')}]`
  if (typeof value === 'object' && value !== null) {
    const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))
    return `{${entries.map(([key, item]) => `${JSON.stringify(key)}:${canonicalJson(item)}`).join(',')}}`
  }
  // 1e999 is Infinity when parsed, and would be null when written.
  if (typeof value === 'number') return Object.is(value, -0) ? '-0' : String(value)
  return JSON.stringify(value) ?? 'null'
}
