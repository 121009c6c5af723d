import type { AddOperation, RemoveOperation, ReplaceOperation } from '@ag-ui/core'
import type { Json, JsonObject } from '@troupe/kernel'

/** A change of a JSON document, as this package writes it. */
export type PatchOperation = AddOperation | RemoveOperation | ReplaceOperation

/** Keys that are not allowed in a pointer: clients would refuse the whole patch. */
const BANNED: ReadonlySet<string> = new Set(['__proto__', 'constructor', 'prototype'])
/** From this many operations on, a patch is compared with replacing the whole value. */
const MANY = 4

/**
 * A key as a part of a JSON Pointer.
 * @example escapeKey('a/b~c') // 'a~1b~0c'
 */
export function escapeKey(key: string): string {
  return key.includes('~') || key.includes('/') ? key.replaceAll('~', '~0').replaceAll('/', '~1') : key
}

/** Whether a key is allowed in a pointer. */
export function isPatchable(key: string): boolean {
  return !BANNED.has(key)
}

/**
 * The operations that turn one value into another, at a path.
 * Contract: apply in order; never longer than replacing the whole value.
 * @example diff({ a: 1, b: 2 }, { a: 1, b: 3 }, '/x') // [{ op: 'replace', path: '/x/b', value: 3 }]
 */
export function diff(before: Json, after: Json, path: string): readonly PatchOperation[] {
  const operations: PatchOperation[] = []
  compare(before, after, path, operations)
  if (operations.length < MANY) return operations
  const whole: PatchOperation = { op: 'replace', path, value: after }
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

function compare(before: Json, after: Json, path: string, out: PatchOperation[]): void {
  if (before === after) return
  if (Array.isArray(before) && Array.isArray(after)) compareItems(before, after, path, out)
  else if (isJsonObject(before) && isJsonObject(after)) compareKeys(before, after, path, out)
  else out.push({ op: 'replace', path, value: after })
}

function compareKeys(before: JsonObject, after: JsonObject, path: string, out: PatchOperation[]): void {
  const mine: PatchOperation[] = []
  for (const key of Object.keys(before)) {
    if (Object.hasOwn(after, key)) continue
    if (!isPatchable(key)) return void out.push({ op: 'replace', path, value: after })
    mine.push({ op: 'remove', path: `${path}/${escapeKey(key)}` })
  }
  for (const [key, value] of Object.entries(after)) {
    const old = Object.hasOwn(before, key) ? (before[key] as Json) : undefined
    if (old !== undefined && equal(old, value)) continue
    if (!isPatchable(key)) return void out.push({ op: 'replace', path, value: after })
    const at = `${path}/${escapeKey(key)}`
    if (old === undefined) mine.push({ op: 'add', path: at, value })
    else compare(old, value, at, mine)
  }
  for (const operation of mine) out.push(operation)
}

/** Keeps equal items at both ends; changes the rest in place, then removes or adds items. */
function compareItems(before: readonly Json[], after: readonly Json[], path: string, out: PatchOperation[]): void {
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
