import { got, KernelError } from '@troupe/kernel'

const INTERNALS = new Set(['__proto__', 'constructor', 'prototype'])
const LONGEST_PATH = 200

/** What is wrong with a run input, and where. */
export function invalidInput(path: string, message: string): KernelError {
  const field = path.length > LONGEST_PATH ? `${path.slice(0, LONGEST_PATH)}…` : path
  return new KernelError('VALIDATION_FAILED', `run input, ${field}: ${message}`, {
    details: { issues: [{ path: field, message }] },
  })
}

/**
 * A field as people write it.
 * @example pathOf(['messages', 2, 'content']) // 'messages[2].content'
 */
export function pathOf(keys: readonly PropertyKey[]): string {
  let path = ''
  for (const key of keys) path += typeof key === 'number' ? `[${key}]` : path === '' ? String(key) : `.${String(key)}`
  return path || 'input'
}

interface Place {
  readonly value: object
  readonly key: PropertyKey
  readonly parent: Place | undefined
  readonly depth: number
}

/**
 * Checks foreign JSON before anything recursive touches it.
 * Contract: throws `VALIDATION_FAILED` for what is nested deeper than `depth`, for keys that name object internals, and for what is no JSON; needs no stack.
 */
export function checkJson(root: object, depth: number): void {
  const open: Place[] = [{ value: root, key: '', parent: undefined, depth: 1 }]
  for (let place = open.pop(); place; place = open.pop()) {
    const list = Array.isArray(place.value)
    for (const name of Object.keys(place.value)) {
      const key = list ? Number(name) : name
      const value: unknown = (place.value as Record<string, unknown>)[name]
      const wrong = INTERNALS.has(name) ? 'the name of an object internal is not allowed' : notJson(value, list)
      if (wrong !== undefined) throw invalidInput(pathOf(keysOf(place, key)), wrong)
      if (typeof value !== 'object' || value === null) continue
      if (place.depth >= depth) {
        throw invalidInput(pathOf(keysOf(place, key)), `nested deeper than ${depth} levels`)
      }
      open.push({ value, key, parent: place, depth: place.depth + 1 })
    }
  }
}

/** A property that is undefined is one that is absent. */
function notJson(value: unknown, inList: boolean): string | undefined {
  switch (typeof value) {
    case 'string':
    case 'boolean':
      return undefined
    case 'number':
      return Number.isFinite(value) ? undefined : `expected JSON, ${got(value)}`
    case 'undefined':
      return inList ? `expected JSON, ${got(value)}` : undefined
    case 'object': {
      const prototype: unknown = value === null || Array.isArray(value) ? null : Object.getPrototypeOf(value)
      return prototype === null || prototype === Object.prototype
        ? undefined
        : 'expected plain JSON, got an object of a class'
    }
    default:
      return `expected JSON, got a ${typeof value}`
  }
}

function keysOf(place: Place, key: PropertyKey): PropertyKey[] {
  const keys = [key]
  for (let at: Place | undefined = place; at?.parent; at = at.parent) keys.unshift(at.key)
  return keys
}
