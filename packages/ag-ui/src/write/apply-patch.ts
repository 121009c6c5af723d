import type { JsonPatchOperation } from '@ag-ui/core'
import { type Json, KernelError } from '@troupe/kernel'
import { got } from '@troupe/kernel/kit'
import { isJsonObject, isPatchable } from '../translate/json-patch.ts'

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
  return changed(document, keys.map(unescapeKey), value, op, path)
}

function changed(
  target: Json,
  [key, ...rest]: readonly string[],
  value: Json | undefined,
  op: string,
  path: string,
): Json {
  if (key === undefined) {
    if (value === undefined) throw broken(path, 'the whole document cannot be removed')
    return value
  }
  if (!isPatchable(key)) throw broken(path, 'the pointer names an object internal')
  const last = rest.length === 0
  if (Array.isArray(target)) {
    const index = key === '-' ? target.length : Number(key)
    const limit = last && op === 'add' ? target.length : target.length - 1
    if (!(Number.isInteger(index) && index >= 0 && index <= limit)) throw broken(path, 'there is no such item')
    if (!last) return target.with(index, changed(target[index], rest, value, op, path))
    return target.toSpliced(index, op === 'add' ? 0 : 1, ...(value === undefined ? [] : [value]))
  }
  if (!isJsonObject(target)) throw broken(path, 'the target is not an object or array')
  if (!Object.hasOwn(target, key) && !(last && op === 'add')) throw broken(path, 'there is no such key')
  if (!last) return { ...target, [key]: changed(target[key] as Json, rest, value, op, path) }
  const { [key]: _before, ...others } = target
  return value === undefined ? others : { ...others, [key]: value }
}

function unescapeKey(key: string): string {
  return key.replaceAll('~1', '/').replaceAll('~0', '~')
}

function broken(path: string, why: string): KernelError {
  return new KernelError('AG_UI_STREAM_INVALID', `patch: ${why}, ${got(path)}`)
}
