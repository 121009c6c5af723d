import type { CommittedMessage, Json, JsonObject, Message, State } from '@troupe/kernel'
import type { KeyChanges } from '../key-changes.ts'

/** Whether a key lives for one run and is not stored. */
export function isTemporary(key: string): boolean {
  return key.startsWith('temp:')
}

/** Adds to each message of a run how it has changed the state, and says what the state is then. */
export function placeChanges(
  runId: string,
  messages: readonly Message[],
  before: JsonObject,
  changesAt: (message: Message) => KeyChanges | undefined,
): { readonly messages: readonly CommittedMessage[]; readonly state: JsonObject } {
  const fold = { state: { ...before }, own: new Set<string>() }
  const placed = messages.map((message) => {
    const changes = changeState(fold, changesAt(message) ?? NONE)
    return changes ? { runId, message, changes } : { runId, message }
  })
  return { messages: placed, state: fold.state }
}

const NONE: KeyChanges = new Map()

/** A state that changes message by message. */
interface Fold {
  readonly state: Record<string, Json>
  /** The keys that this run has set: only their values are copies, those of others may have been changed in place. */
  readonly own: Set<string>
}

/** Changes a state, and returns what is new. */
function changeState({ state, own }: Fold, given: KeyChanges): CommittedMessage['changes'] {
  const set: Record<string, Json> = {}
  const removed: string[] = []
  for (const [key, value] of given) {
    if (isTemporary(key) || (own.has(key) ? isSame(value, state[key]) : value === state[key])) continue
    own.add(key)
    if (value === undefined) {
      removed.push(key)
      delete state[key]
    } else {
      set[key] = value
      state[key] = value
    }
  }
  const anySet = Object.keys(set).length > 0
  if (!anySet && removed.length === 0) return undefined
  return { ...(anySet && { set }), ...(removed.length > 0 && { removed }) }
}

/** The differences from a stored state, without keys that live for one run. */
export function changesAfter(stored: JsonObject, state: State): { set: JsonObject; removed: readonly string[] } {
  const set: Record<string, Json> = {}
  const kept = new Set<string>()
  for (const key of state.keys()) {
    if (isTemporary(key)) continue
    kept.add(key)
    const value = state.get(key)
    if (value !== undefined && !isSame(value, stored[key])) set[key] = value
  }
  return { set, removed: Object.keys(stored).filter((key) => !kept.has(key)) }
}

/** Whether two values are the same JSON; a changed order of keys counts as a change. */
function isSame(one: Json | undefined, other: Json | undefined): boolean {
  if (one === other) return true
  const areObjects = typeof one === 'object' && typeof other === 'object' && one !== null && other !== null
  return areObjects && JSON.stringify(one) === JSON.stringify(other)
}

/** Separates the state that lives for one run from the state that is stored. */
export function byLifetime(set: JsonObject): { readonly temp: JsonObject | undefined; readonly kept: JsonObject } {
  const entries = Object.entries(set)
  const temp = entries.filter(([key]) => isTemporary(key))
  if (temp.length === 0) return { temp: undefined, kept: set }
  return { temp: Object.fromEntries(temp), kept: Object.fromEntries(entries.filter(([key]) => !isTemporary(key))) }
}

/** The state that lives for one run; a run that was resumed goes on with it. */
export function temporary(state: State): { readonly temp?: JsonObject } {
  const entries = [...state.keys()].filter(isTemporary).map((key) => [key, state.get(key)] as const)
  const temp = Object.fromEntries(entries.filter(([, value]) => value !== undefined)) as JsonObject
  return entries.length > 0 ? { temp } : {}
}
