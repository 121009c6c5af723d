import type { RunAgentInput } from '@ag-ui/core'
import type { Json, JsonObject, RunInput } from '@troupe/kernel'
import { got, notJson } from '@troupe/kernel/kit'
import { equal } from '../translate/json-patch.ts'
import { isTemporary } from '../translate/shared-state.ts'
import { invalidInput, pathOf } from './check-json.ts'

/** Checks a client's state. Contract: throws `VALIDATION_FAILED` if it is not an object, not JSON or too large; nesting has been checked before. */
export function checkClientState(state: unknown, bytes: number): void {
  if (state === undefined) return
  if (typeof state !== 'object' || state === null || Array.isArray(state)) {
    throw invalidInput('state', `expected an object, ${got(state)}`)
  }
  for (const key of Object.keys(state)) {
    if (key === '' || !key.isWellFormed())
      throw invalidInput('state', `expected keys that are non-empty strings, ${got(key)}`)
  }
  const broken = notJson(state)
  if (broken !== undefined) throw invalidInput(`state${broken}`, 'expected JSON')
  const size = new TextEncoder().encode(JSON.stringify(state)).byteLength
  if (size > bytes) throw invalidInput('state', `expected at most ${bytes} bytes, got ${size}`)
}

/** How a client's state changes that of a thread: its keys are set; they are set, and removed by `null`; or they are all that is left. */
export type ClientStateMode = 'merge' | 'patch' | 'replace'

/**
 * The change that a client's state makes to a thread.
 * Contract: a missing or empty state leaves the thread's state as it is (a page that was just loaded has an empty one);
 * setting a hidden key is `VALIDATION_FAILED`.
 */
export function stateChange(
  { state }: Pick<RunAgentInput, 'state'>,
  stored: JsonObject,
  hidden: (key: string) => boolean,
  mode: ClientStateMode,
): RunInput['state'] {
  const entries = Object.entries((state ?? {}) as JsonObject)
  if (entries.length === 0) return undefined
  const set: Record<string, Json> = {}
  const dropped = new Set<string>()
  for (const [key, value] of entries) {
    if (!isTemporary(key) && hidden(key)) throw invalidInput(pathOf(['state', key]), 'clients cannot set this key')
    if (mode === 'patch' && value === null) dropped.add(key)
    else if (isTemporary(key) || !Object.hasOwn(stored, key) || !equal(stored[key] as Json, value)) set[key] = value
  }
  const isRemoved = (key: string) =>
    dropped.has(key) || (mode === 'replace' && !Object.hasOwn(state as JsonObject, key))
  const removed = Object.keys(stored).filter((key) => !hidden(key) && isRemoved(key))
  return Object.keys(set).length === 0 && removed.length === 0 ? undefined : { set, removed }
}
