import { KernelError } from '@troupe/kernel'
import { got, isForbiddenKey } from '@troupe/kernel/kit'

const LONGEST_PATH = 200

/** The error of an invalid run input, with the path of the field. */
export function invalidInput(path: string, message: string): KernelError {
  const field = path.length > LONGEST_PATH ? `${path.slice(0, LONGEST_PATH)}…` : path
  return new KernelError('VALIDATION_FAILED', `run input, ${field}: ${message}`, {
    details: { issues: [{ path: field, message }] },
  })
}

/**
 * Formats the path of a field.
 * @example pathOf(['messages', 2, 'content']) // 'messages[2].content'
 */
export function pathOf(keys: readonly PropertyKey[]): string {
  let path = ''
  for (const key of keys) path += typeof key === 'number' ? `[${key}]` : path === '' ? String(key) : `.${String(key)}`
  return path || 'input'
}

interface JsonNode {
  readonly value: object
  readonly key: PropertyKey
  readonly parent: JsonNode | undefined
  readonly depth: number
}

/**
 * Checks untrusted JSON before any recursive code reads it.
 * Contract: throws `VALIDATION_FAILED` for nesting deeper than `depth`, for keys that name object internals, and for values that are not JSON; does not recurse.
 */
export function checkJson(root: object, depth: number): void {
  const open: JsonNode[] = [{ value: root, key: '', parent: undefined, depth: 1 }]
  for (let node = open.pop(); node; node = open.pop()) {
    const list = Array.isArray(node.value)
    for (const name of Object.keys(node.value)) {
      const key = list ? Number(name) : name
      const value: unknown = (node.value as Record<string, unknown>)[name]
      const wrong = reasonAgainst(name, value, list, node.depth >= depth && depth)
      if (wrong !== undefined) throw invalidInput(pathOf(keysOf(node, key)), wrong)
      if (isObject(value)) open.push({ value, key, parent: node, depth: node.depth + 1 })
    }
  }
}

/** Why an entry is not allowed; `deepest` is the limit of a node that may have no nodes below it. */
function reasonAgainst(name: string, value: unknown, inList: boolean, deepest: number | false): string | undefined {
  if (isForbiddenKey(name)) return 'the name of an object internal is not allowed'
  return notJson(value, inList) ?? (deepest && isObject(value) ? `nested deeper than ${deepest} levels` : undefined)
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null
}

/** An undefined property counts as absent. */
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

function keysOf(node: JsonNode, key: PropertyKey): PropertyKey[] {
  const keys = [key]
  for (let at: JsonNode | undefined = node; at?.parent; at = at.parent) keys.unshift(at.key)
  return keys
}
