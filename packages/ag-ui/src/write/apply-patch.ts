import type { JsonPatchOperation } from '@ag-ui/core'
import { type Json, type JsonObject, KernelError } from '@troupe/kernel'
import { got, isForbiddenKey } from '@troupe/kernel/kit'
import { isJsonObject } from '../translate/json-patch.ts'

/**
 * Applies a JSON Patch of additions, removals and replacements.
 * Contract: returns a new document; throws `AG_UI_STREAM_INVALID` for an operation that does not apply.
 */
export function applyPatch(document: Json, patch: readonly JsonPatchOperation[]): Json {
  return patch.reduce(applyOperation, document)
}

function applyOperation(document: Json, operation: JsonPatchOperation): Json {
  const { op, path } = operation
  if (op !== 'add' && op !== 'remove' && op !== 'replace')
    throw broken(path, 'the operation must be add, remove or replace')
  if (path !== '' && !path.startsWith('/')) throw broken(path, 'a pointer must begin with a slash')
  const value = op === 'remove' ? undefined : (operation.value as Json | undefined)
  if (op !== 'remove' && value === undefined) throw broken(path, 'the value is missing')
  const keys = path.split('/').slice(1)
  return changed(document, keys.map(unescapeKey), { adds: op === 'add', value, path })
}

/** A change at the end of a pointer; one without a value removes. */
interface Change {
  readonly adds: boolean
  readonly value: Json | undefined
  readonly path: string
}

function changed(target: Json, [key, ...rest]: readonly string[], change: Change): Json {
  const { value, path } = change
  if (key === undefined) {
    if (value === undefined) throw broken(path, 'the whole document cannot be removed')
    return value
  }
  if (isForbiddenKey(key)) throw broken(path, 'the pointer names an object internal')
  if (Array.isArray(target)) return changedList(target, key, rest, change)
  if (isJsonObject(target)) return changedObject(target, key, rest, change)
  throw broken(path, 'the target is not an object or array')
}

function changedList(target: readonly Json[], key: string, rest: readonly string[], change: Change): Json {
  const { adds, value, path } = change
  const last = rest.length === 0
  const index = key === '-' ? target.length : Number(key)
  const limit = last && adds ? target.length : target.length - 1
  if (!(Number.isInteger(index) && index >= 0 && index <= limit)) throw broken(path, 'there is no such item')
  if (!last) return target.with(index, changed(target[index] as Json, rest, change))
  return target.toSpliced(index, adds ? 0 : 1, ...(value === undefined ? [] : [value]))
}

function changedObject(target: JsonObject, key: string, rest: readonly string[], change: Change): Json {
  const { adds, value, path } = change
  const last = rest.length === 0
  if (!Object.hasOwn(target, key) && !(last && adds)) throw broken(path, 'there is no such key')
  if (!last) return { ...target, [key]: changed(target[key] as Json, rest, change) }
  const { [key]: _before, ...others } = target
  return value === undefined ? others : { ...others, [key]: value }
}

function unescapeKey(key: string): string {
  return key.replaceAll('~1', '/').replaceAll('~0', '~')
}

function broken(path: string, why: string): KernelError {
  return new KernelError('AG_UI_STREAM_INVALID', `patch: ${why}, ${got(path)}`)
}
