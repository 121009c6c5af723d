import { EventType } from '@ag-ui/core'
import type { ErrorInfo, EventOf, Json, JsonObject } from '@troupe/kernel'
import type { AgUiEvent } from '../protocol.ts'
import { diff, isJsonObject } from './json-patch.ts'
import type { PublicError } from './run-error.ts'
import { copyOf } from './shared-state.ts'
import { tagged } from './tag.ts'

/** The name of custom events that become activities. */
const ACTIVITY = 'activity'
/** The name of custom events with which a flow reports an error that it tolerates. */
const BRANCH_FAILED = 'branch-failed'

type Activity = { readonly type: string; readonly content: JsonObject; readonly id?: string }

/** Translates custom events. Contract: an event named `activity` with `{ type, content, id? }` becomes an activity, and its changes become patches. */
export class CustomTranslator {
  readonly #runId: string
  readonly #public: (error: ErrorInfo) => PublicError
  readonly #activities: Map<string, { readonly content: JsonObject; readonly owner: string | undefined }> = new Map()

  constructor(runId: string, toPublic: (error: ErrorInfo) => PublicError) {
    this.#runId = runId
    this.#public = toPublic
  }

  translate({ name, data }: EventOf<'custom'>, owner: string | undefined): AgUiEvent | undefined {
    const value = copyOf(data) ?? null
    if (typeof name !== 'string') return undefined
    if (name === ACTIVITY && isActivity(value)) return this.#activity(value, owner)
    const shown = name === BRANCH_FAILED ? this.#withoutError(value) : value
    return tagged({ type: EventType.CUSTOM, name, value: shown }, owner)
  }

  #activity({ type: activityType, content, id }: Activity, owner: string | undefined): AgUiEvent | undefined {
    const messageId = `${ACTIVITY}:${id ?? `${this.#runId}:${activityType}`}`
    const before = this.#activities.get(messageId)
    this.#activities.set(messageId, { content, owner })
    if (!before || before.owner !== owner) {
      return tagged({ type: EventType.ACTIVITY_SNAPSHOT, messageId, activityType, content, replace: true }, owner)
    }
    const patch = [...diff(before.content, content, '')]
    return patch.length === 0
      ? undefined
      : tagged({ type: EventType.ACTIVITY_DELTA, messageId, activityType, patch }, owner)
  }

  #withoutError(value: Json): Json {
    if (!isJsonObject(value) || !isJsonObject(value.error)) return value
    const { code } = value.error
    return { ...value, error: this.#public({ code: String(code), message: '' }) }
  }
}

function isActivity(value: Json): value is Activity {
  if (!isJsonObject(value)) return false
  const { type, content, id } = value
  return typeof type === 'string' && isJsonObject(content) && (id === undefined || typeof id === 'string')
}
