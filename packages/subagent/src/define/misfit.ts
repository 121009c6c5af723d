import { got, type JsonObject, KernelError, suggestion } from '@troupe/kernel'

/** Where in a definition something stands: `['limits', 'maxTurns']`. */
export type Place = readonly string[]

/** What is wrong with a definition. Contract: `details.path` says where, and `at` where in a text, so that a file can be pointed at with its line. */
export function misfit(who: string, place: Place, expected: string, value: unknown, at?: number): KernelError {
  const what = place.length === 0 ? '' : `${place.join('.')} `
  const details = { path: place, ...(at !== undefined && { at }) }
  return new KernelError('CONFIG_INVALID', `${who}: ${what}${expected}, ${got(value)}`, { details })
}

/** Contract: throws unless it is an object whose keys are all known. */
export function checkKeys(who: string, place: Place, value: unknown, known: readonly string[]): void {
  if (!isPlain(value)) throw misfit(who, place, 'is an object', value)
  for (const key of Object.keys(value)) {
    if (known.includes(key)) continue
    const option = [...place, key].join('.')
    throw new KernelError('CONFIG_INVALID', `${who}: unknown option ${option}; ${suggestion(key, known)}`, {
      details: { path: [...place, key], known },
    })
  }
}

/** An object that is no list and of no class. */
export function isPlain(value: unknown): value is JsonObject {
  if (typeof value !== 'object' || value === null) return false
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === Object.prototype || prototype === null
}
