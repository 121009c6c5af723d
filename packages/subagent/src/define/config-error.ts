import { type JsonObject, KernelError } from '@troupe/kernel'
import { got, suggestion } from '@troupe/kernel/kit'

/** Makes the error for an invalid option. Contract: `details.path` is its path, such as `['limits', 'maxTurns']`, and `details.at` the offset in its text, so that `parseAgent` can name the line in a file. */
export function configError(
  who: string,
  path: readonly string[],
  expected: string,
  value: unknown,
  at?: number,
): KernelError {
  const what = path.length === 0 ? '' : `${path.join('.')} `
  const details = { path, ...(at !== undefined && { at }) }
  return new KernelError('CONFIG_INVALID', `${who}: ${what}${expected}, ${got(value)}`, { details })
}

/** Contract: throws unless it is a plain object whose keys are all known; unlike `checkOptionNames` of the kernel, the error has the path of a nested key. */
export function checkKeys(who: string, path: readonly string[], value: unknown, known: readonly string[]): void {
  if (!isPlain(value)) throw configError(who, path, 'must be an object', value)
  for (const key of Object.keys(value)) {
    if (known.includes(key)) continue
    const option = [...path, key].join('.')
    throw new KernelError('CONFIG_INVALID', `${who}: unknown option ${option}; ${suggestion(key, known)}`, {
      details: { path: [...path, key], known },
    })
  }
}

/** Returns whether a value is an object, and neither a list nor the instance of a class. */
export function isPlain(value: unknown): value is JsonObject {
  if (typeof value !== 'object' || value === null) return false
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === Object.prototype || prototype === null
}
