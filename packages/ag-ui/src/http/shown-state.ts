import type { JsonObject } from '@troupe/kernel'
import { jsonLength } from '@troupe/kernel/kit'
import { SharedState } from '../translate/shared-state.ts'

/** The state of a thread as clients see it; undefined if it has more than about `chars` characters. */
export function shownState(state: JsonObject, hidden: (key: string) => boolean, chars: number): JsonObject | undefined {
  const { snapshot } = new SharedState(state, hidden)
  return jsonLength(snapshot, chars) <= chars ? snapshot : undefined
}
