import { EventType } from '@ag-ui/core'
import type { Json, JsonObject } from '@troupe/kernel'
import type { AgUiEvent } from '../protocol.ts'

/** A frequent event as a list: the index of its columns in `TABLE`, then its values; a name that has come before is its number. */
export type EventRow = readonly Json[]

/** Columns of names and ids, which come again and again; all others have values of their own. */
const NAMES: ReadonlySet<string> = new Set([
  'messageId',
  'toolCallId',
  'parentMessageId',
  'toolCallName',
  'stepName',
  'name',
  'role',
  'subagentRunId',
])

/** The events that have rows, and their columns. Contract: append only, because stored logs have the indexes. */
const TABLE: readonly (readonly [EventType, ...string[]])[] = [
  [EventType.TEXT_MESSAGE_START, 'messageId', 'role', 'name', 'subagentRunId'],
  [EventType.TEXT_MESSAGE_CONTENT, 'messageId', 'delta', 'subagentRunId'],
  [EventType.TEXT_MESSAGE_END, 'messageId', 'subagentRunId'],
  [EventType.TOOL_CALL_START, 'toolCallId', 'toolCallName', 'parentMessageId', 'subagentRunId'],
  [EventType.TOOL_CALL_ARGS, 'toolCallId', 'delta', 'subagentRunId'],
  [EventType.TOOL_CALL_END, 'toolCallId', 'subagentRunId'],
  [EventType.TOOL_CALL_RESULT, 'messageId', 'toolCallId', 'content', 'role', 'subagentRunId'],
  [EventType.REASONING_START, 'messageId', 'subagentRunId'],
  [EventType.REASONING_MESSAGE_START, 'messageId', 'role', 'subagentRunId'],
  [EventType.REASONING_MESSAGE_CONTENT, 'messageId', 'delta', 'subagentRunId'],
  [EventType.REASONING_MESSAGE_END, 'messageId', 'subagentRunId'],
  [EventType.REASONING_END, 'messageId', 'subagentRunId'],
  [EventType.STEP_STARTED, 'stepName', 'subagentRunId'],
  [EventType.STEP_FINISHED, 'stepName', 'subagentRunId'],
]

const KINDS: ReadonlyMap<EventType, number> = new Map(TABLE.map(([type], kind) => [type, kind]))
/** How much shorter a row is than its event, about. */
const ROW_SAVES = 40

/** How many characters an event of so many has in a packed log, about. */
export function charsInRow({ type }: AgUiEvent, chars: number): number {
  return KINDS.has(type) ? Math.max(chars - ROW_SAVES, 0) : chars
}

/** Writes events as rows where they have one. Contract: an event with a field that is not in the table, or without a value, stays as it is. */
export function rowsOf(events: readonly AgUiEvent[]): readonly (EventRow | AgUiEvent)[] {
  const known = new Map<Json, number>()
  return events.map((event) => {
    const kind = KINDS.get(event.type)
    if (kind === undefined) return event
    const { type: _, ...fields } = event as unknown as JsonObject
    const columns = TABLE[kind]?.slice(1) ?? []
    const given = Object.keys(fields).filter((name) => fields[name] !== undefined)
    if (!given.every((name) => columns.includes(name) && hasRow(name, fields[name]))) return event
    const values = columns.map((name) => {
      const value = fields[name] ?? null
      if (value === null || !NAMES.has(name)) return value
      const number = known.get(value)
      if (number === undefined) known.set(value, known.size)
      return number ?? value
    })
    return [kind, ...values.slice(0, values.findLastIndex((value) => value !== null) + 1)]
  })
}

function hasRow(name: string, value: Json | undefined): boolean {
  return NAMES.has(name) ? typeof value === 'string' : value !== null
}

/** Reads what `rowsOf` has written. */
export function eventsOf(rows: readonly (EventRow | AgUiEvent)[]): readonly AgUiEvent[] {
  const known: Json[] = []
  return rows.map((row) => {
    if (!isRow(row)) return row
    const [kind, ...values] = row
    const [type, ...columns] = TABLE[kind as number] ?? []
    const event: Record<string, Json | undefined> = { type }
    for (const [i, value] of values.entries()) {
      const name = columns[i] as string
      if (value !== null) event[name] = NAMES.has(name) ? nameOf(value, known) : value
    }
    return event as unknown as AgUiEvent
  })
}

function nameOf(value: Json, known: Json[]): Json | undefined {
  if (typeof value === 'number') return known[value]
  known.push(value)
  return value
}

function isRow(row: EventRow | AgUiEvent): row is EventRow {
  return Array.isArray(row)
}
