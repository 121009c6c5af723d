import { EventType } from '@ag-ui/core'
import type { Json } from '@troupe/kernel'
import type { AgUiEvent } from '../protocol.ts'
import { isJsonObject } from '../translate/json-patch.ts'

const NAME = 'run-continued'

/** Tells readers that another process goes on with the run from here. */
export const RUN_CONTINUED: AgUiEvent = { type: EventType.CUSTOM, name: NAME, value: {} }

/** Whether an event of a log is the place from where another process went on. */
export function isContinuation(event: Json): boolean {
  return isJsonObject(event) && event.type === EventType.CUSTOM && event.name === NAME
}
