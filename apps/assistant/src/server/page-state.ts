import { type JsonObject, KernelError } from '@troupe/kernel'

const MAX_THINGS = 500
const MAX_TEXT = 1_000
const KEYS: readonly string[] = ['id', 'text', 'packed', 'by']

/** Reads the state that the page saves: its packing list. Contract: throws `VALIDATION_FAILED` for anything else. */
export function readPageState(text: string): JsonObject {
  let state: unknown
  try {
    state = JSON.parse(text)
  } catch (cause) {
    throw invalid('expected a JSON object', cause)
  }
  if (!isObject(state)) throw invalid('expected a JSON object')
  const unknown = Object.keys(state).find((key) => key !== 'packing')
  if (unknown !== undefined) throw invalid('expected no key but packing')
  const { packing = [] } = state
  if (!Array.isArray(packing) || packing.length > MAX_THINGS || !packing.every(isThing)) {
    throw invalid(`packing must be a list of at most ${MAX_THINGS} things { id, text, packed, by }`)
  }
  return state as JsonObject
}

function isThing(thing: unknown): boolean {
  if (!isObject(thing) || !Object.keys(thing).every((key) => KEYS.includes(key))) return false
  const { id, text, packed = false, by = '' } = thing
  return (
    [id, text, by].every((value) => typeof value === 'string' && value.length <= MAX_TEXT) &&
    typeof packed === 'boolean'
  )
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function invalid(expected: string, cause?: unknown): KernelError {
  return new KernelError('VALIDATION_FAILED', `state: ${expected}`, { cause })
}
