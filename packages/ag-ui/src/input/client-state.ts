import type { RunAgentInput } from '@ag-ui/core'
import { got, type Json, type JsonObject, notJson, type RunInput } from '@troupe/kernel'
import { equal } from '../translate/json-patch.ts'
import { invalidInput, pathOf } from './check-json.ts'

/** Contract: throws `VALIDATION_FAILED` for what is no object, is no JSON or is too large; nesting has been checked. */
export function checkClientState(state: unknown, bytes: number): void {
  if (state === undefined) return
  if (typeof state !== 'object' || state === null || Array.isArray(state)) {
    throw invalidInput('state', `expected an object, ${got(state)}`)
  }
  for (const key of Object.keys(state)) {
    if (key === '' || !key.isWellFormed()) throw invalidInput('state', `a key is a non-empty text, ${got(key)}`)
  }
  const broken = notJson(state)
  if (broken !== undefined) throw invalidInput(`state${broken}`, 'expected JSON')
  const text = JSON.stringify(state)
  // A character is one to three bytes, so most states need no counting.
  const size = text.length * 3 <= bytes ? 0 : new TextEncoder().encode(text).byteLength
  if (size > bytes) throw invalidInput('state', `expected at most ${bytes} bytes, got ${size}`)
}

/** Lives for one run and is not shown. */
export function isTemporary(key: string): boolean {
  return key.startsWith('temp:')
}

/** What a client's state changes in a thread. */
export type StateChange = Required<NonNullable<RunInput['state']>>

/**
 * What a client's state changes in that of a thread: it is the state the run starts from, so that a key it lacks is removed.
 * Contract: none at all, and an empty one, say nothing (a page that was just loaded has an empty one); hidden keys are not the client's to change, `VALIDATION_FAILED`.
 */
export function stateChange(
  { state }: Pick<RunAgentInput, 'state'>,
  stored: JsonObject,
  hidden: (key: string) => boolean,
): StateChange | undefined {
  const wished = Object.entries((state ?? {}) as JsonObject)
  if (wished.length === 0) return undefined
  const set: Record<string, Json> = {}
  for (const [key, value] of wished) {
    if (!isTemporary(key) && hidden(key)) throw invalidInput(pathOf(['state', key]), 'a client cannot set it')
    if (isTemporary(key) || !Object.hasOwn(stored, key) || !equal(stored[key] as Json, value)) set[key] = value
  }
  const removed = Object.keys(stored).filter((key) => !hidden(key) && !Object.hasOwn(state as JsonObject, key))
  return Object.keys(set).length === 0 && removed.length === 0 ? undefined : { set, removed }
}
