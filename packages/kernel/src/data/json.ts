/** Anything that survives `JSON.parse(JSON.stringify(x))` unchanged; events, state, checkpoints and journals are made of it. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json }
/** A JSON object. */
export type JsonObject = { readonly [key: string]: Json }
/** A value, or a promise of it. Contract: a hook that returns no promise is not awaited. */
export type Awaitable<T> = T | PromiseLike<T>

/**
 * Whether something has to be awaited.
 * @example const value = isPromise(given) ? await given : given
 */
export function isPromise<T>(value: Awaitable<T>): value is PromiseLike<T> {
  return typeof (value as { readonly then?: unknown } | null | undefined)?.then === 'function'
}

const FORBIDDEN_KEYS: readonly unknown[] = ['__proto__', 'constructor', 'prototype']

/**
 * Whether a key must not become the name of a property, because assigning it could change a prototype.
 * @example if (isForbiddenKey(key)) throw new KernelError('VALIDATION_FAILED', `state: ${key} is reserved`)
 */
export function isForbiddenKey(key: unknown): boolean {
  return FORBIDDEN_KEYS.includes(key)
}

const MAX_DEPTH = 64

/**
 * Returns a value as it is after a journey as JSON: `toJSON` (a Date) is called, undefined properties are left out, an instance of a class becomes its own data.
 * Contract: throws what `broken` makes of the path and the reason where a value cannot be JSON: a function, a cycle, a Map, NaN, a bigint.
 * @example jsonOf({ at: new Date(0), note: undefined }, fail) // { at: '1970-01-01T00:00:00.000Z' }
 */
export function jsonOf(
  value: unknown,
  broken: (path: string, why: string) => Error,
  path = '',
  around: readonly object[] = [],
): Json {
  if (isScalar(value)) return value
  // JSON has no negative zero.
  if (typeof value === 'number' && Number.isFinite(value)) return value === 0 ? 0 : value
  if (typeof value !== 'object') throw broken(path, typeof value === 'number' ? `is ${value}` : `is a ${typeof value}`)
  return objectOf(value, broken, path, around)
}

function isScalar(value: unknown): value is null | string | boolean {
  return value === null || typeof value === 'string' || typeof value === 'boolean'
}

function objectOf(
  value: object,
  broken: (path: string, why: string) => Error,
  path: string,
  around: readonly object[],
): Json {
  if (around.includes(value)) throw broken(path, 'is an object that contains itself')
  if (around.length >= MAX_DEPTH) throw broken(path, `is nested deeper than ${MAX_DEPTH} levels`)
  const inside = [...around, value]
  const { toJSON } = value as { readonly toJSON?: unknown }
  if (typeof toJSON === 'function') return jsonOf(toJSON.call(value), broken, path, inside)
  if (Array.isArray(value)) return Array.from(value, (item, i) => jsonOf(item, broken, `${path}[${i}]`, inside))
  const entries = Object.entries(value)
  if (!isPlain(value) && (entries.length === 0 || ArrayBuffer.isView(value))) throw broken(path, instanceName(value))
  const copy: Record<string, Json> = {}
  for (const [key, item] of entries) {
    // A later copy by assignment would change a prototype.
    if (key === '__proto__') throw broken(`${path}.${key}`, 'has a forbidden name')
    if (item !== undefined) copy[key] = jsonOf(item, broken, `${path}.${key}`, inside)
  }
  return copy
}

/** Whether an object is a literal, of whichever realm. */
function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === null || Object.getPrototypeOf(prototype) === null
}

function instanceName(value: object): string {
  return isPromise(value as Awaitable<unknown>)
    ? 'is a promise; await it'
    : `is an instance of ${value.constructor?.name}`
}

/**
 * Returns the path to the first part that is not JSON, or undefined if all of it is; more than 64 levels deep counts as not JSON.
 * @example notJson({ a: [1, new Date()] }) // '.a[1]'
 */
export function notJson(value: unknown, path = '', depth = 0): string | undefined {
  if (isScalar(value)) return undefined
  if (typeof value === 'number') return Number.isFinite(value) ? undefined : path
  if (typeof value !== 'object' || depth >= MAX_DEPTH) return path
  return Array.isArray(value) ? itemNotJson(value, path, depth) : memberNotJson(value, path, depth)
}

function itemNotJson(list: readonly unknown[], path: string, depth: number): string | undefined {
  for (let i = 0; i < list.length; i++) {
    const found = notJson(list[i], `${path}[${i}]`, depth + 1)
    if (found !== undefined) return found
  }
  return undefined
}

function memberNotJson(value: object, path: string, depth: number): string | undefined {
  const prototype: unknown = Object.getPrototypeOf(value)
  if (prototype !== Object.prototype && prototype !== null) return path
  for (const key in value) {
    // A later copy by assignment would change a prototype.
    if (key === '__proto__') return `${path}.${key}`
    const found = notJson((value as Record<string, unknown>)[key], `${path}.${key}`, depth + 1)
    if (found !== undefined) return found
  }
  return undefined
}
