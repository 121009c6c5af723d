/**
 * Writes equal JSON values as the same text: sorted keys, no spaces.
 * Contract: builds only text, never an object, so a key like `__proto__` is safe.
 * @example canonicalJson({ b: 1, a: [] }) // '{"a":[],"b":1}'
 */
export function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map((item) => canonicalJson(item)).join(',')}]`
  if (typeof value === 'object' && value !== null) {
    const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))
    return `{${entries.map(([key, item]) => `${JSON.stringify(key)}:${canonicalJson(item)}`).join(',')}}`
  }
  // JSON.stringify would write null for 1e999, which parses to Infinity.
  if (typeof value === 'number') return Object.is(value, -0) ? '-0' : String(value)
  return JSON.stringify(value) ?? 'null'
}
