import type { EventRow } from './run-log-rows.ts'
import type { ThreadKey } from './thread-key.ts'

/** Events for a run log. */
export interface LogAppend {
  readonly key: ThreadKey
  readonly run: string
  readonly after: number
  readonly last: number
  readonly close: boolean
  readonly rows: readonly EventRow[]
}
