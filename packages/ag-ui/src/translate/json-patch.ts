import type { JsonPatchOperation } from '@ag-ui/core'
import type { Json, JsonObject } from '@troupe/kernel'
import { isForbiddenKey } from '@troupe/kernel/kit'

/** From this many operations on, a patch is compared with replacing the whole value. */
const MANY = 4

/**
 * A key as a part of a JSON Pointer.
 * @example escapeKey('a/b~c') // 'a~1b~0c'
 */
export function escapeKey(key: string): string {
  return key.includes('~') || key.includes('/') ? key.replaceAll('~', '~0').replaceAll('/', '~1') : key
}

/**
 * The operations that turn one value into another, at a path.
 * Contract: apply in order; never longer than replacing the whole value.
 * @example diff({ a: 1, b: 2 }, { a: 1, b: 3 }, '/x') // [{ op: 'replace', path: '/x/b', value: 3 }]
 */
export function diff(before: Json, after: Json, path: string): readonly JsonPatchOperation[] {
  const operations: JsonPatchOperation[] = []
  compare(before, after, path, operations)
  if (operations.length < MANY) return operations
  const whole: JsonPatchOperation = { op: 'replace', path, value: after }
  return JSON.stringify(operations).length > JSON.stringify([whole]).length ? [whole] : operations
}

/** Whether two values are the same JSON. */
export function equal(a: Json, b: Json): boolean {
  if (a === b) return true
  if (Array.isArray(a)) return Array.isArray(b) && a.length === b.length && a.every((item, i) => equal(item, b[i]))
  if (!isJsonObject(a) || !isJsonObject(b)) return false
  const keys = Object.keys(a)
  return (
    keys.length === Object.keys(b).length &&
    keys.every((key) => Object.hasOwn(b, key) && equal(a[key] as Json, b[key] as Json))
  )
}

/** Whether a value is a JSON object, not an array. */
export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function compare(before: Json, after: Json, path: string, out: JsonPatchOperation[]): void {
  if (before === after) return
  if (Array.isArray(before) && Array.isArray(after)) compareItems(before, after, path, out)
  else if (isJsonObject(before) && isJsonObject(after)) compareKeys(before, after, path, out)
  else out.push({ op: 'replace', path, value: after })
}

function compareKeys(before: JsonObject, after: JsonObject, path: string, out: JsonPatchOperation[]): void {
  const removed = Object.keys(before).filter((key) => !Object.hasOwn(after, key))
  const changed = Object.keys(after).filter(
    (key) => !Object.hasOwn(before, key) || !equal(before[key] as Json, after[key] as Json),
  )
  // Clients would refuse the whole patch for such a key in a pointer.
  if (removed.some(isForbiddenKey) || changed.some(isForbiddenKey)) {
    return void out.push({ op: 'replace', path, value: after })
  }
  for (const key of removed) out.push({ op: 'remove', path: `${path}/${escapeKey(key)}` })
  for (const key of changed) {
    const at = `${path}/${escapeKey(key)}`
    const value = after[key] as Json
    if (Object.hasOwn(before, key)) compare(before[key] as Json, value, at, out)
    else out.push({ op: 'add', path: at, value })
  }
}

/** Keeps equal items at both ends; changes the rest in place, then removes or adds items. */
function compareItems(before: readonly Json[], after: readonly Json[], path: string, out: JsonPatchOperation[]): void {
  const shorter = Math.min(before.length, after.length)
  let head = 0
  while (head < shorter && equal(before[head] as Json, after[head] as Json)) head++
  let tail = 0
  while (tail < shorter - head && equal(before.at(-1 - tail) as Json, after.at(-1 - tail) as Json)) tail++
  const [from, to] = [before.length - tail, after.length - tail]
  const both = Math.min(from, to)
  for (let i = head; i < both; i++) compare(before[i] as Json, after[i] as Json, `${path}/${i}`, out)
  for (let i = from - 1; i >= to; i--) out.push({ op: 'remove', path: `${path}/${i}` })
  for (let i = both; i < to; i++) out.push({ op: 'add', path: `${path}/${i}`, value: after[i] })
}
