import type { Json, LogEntry } from '@troupe/kernel'
import { jsonText } from '@troupe/kernel/store'
import { fromJson } from './column-text.ts'
import type { Tables } from './schema.ts'

/** The most events and characters in one row; a single event may be larger. */
const EVENTS_PER_ROW = 100
const CHARS_PER_ROW = 65_536

type EventRow = Omit<Tables['troupe_run_events'], 'log'>

/** The events of a compacted log. Contract: not a list, so that a process of an earlier version fails instead of numbering them from `first_seq` on. */
interface Compacted {
  readonly seqs: readonly number[]
  readonly events: readonly Json[]
}

/** Events as rows. */
export function eventRows(who: string, after: number, events: readonly Json[]): readonly EventRow[] {
  return packed(events, (some, at) => ({
    first_seq: after + at + 1,
    last_seq: after + at + some.length,
    events: jsonText(who, 'events', some),
  }))
}

/** The entries of a compacted log as rows. Contract: a row begins after the one before it, so that a follower inside an entry finds it. */
export function compactRows(who: string, entries: readonly LogEntry[]): readonly EventRow[] {
  return packed(entries, (some, at) => {
    const seqs = some.map(({ seq }) => seq)
    const row: Compacted = { seqs, events: some.map(({ event }) => event) }
    return {
      first_seq: (entries[at - 1]?.seq ?? 0) + 1,
      last_seq: seqs.at(-1) ?? 0,
      events: jsonText(who, 'entries', row as unknown as Json),
    }
  })
}

/** The entries of a row. */
export function entriesOf(first: number, text: string): readonly LogEntry[] {
  const row = fromJson<Json[] | Compacted>(text)
  if ('seqs' in row) return row.events.map((event, i) => ({ seq: row.seqs[i] as number, event }))
  return row.map((event, i) => ({ seq: first + i, event }))
}

/** Cuts a list into rows of limited size. */
function packed<T>(all: readonly T[], rowOf: (some: readonly T[], at: number) => EventRow): readonly EventRow[] {
  const rows: EventRow[] = []
  const pack = (at: number, some: readonly T[]) => {
    const row = rowOf(some, at)
    if (row.events.length <= CHARS_PER_ROW || some.length === 1) {
      rows.push(row)
      return
    }
    const half = some.length >> 1
    pack(at, some.slice(0, half))
    pack(at + half, some.slice(half))
  }
  for (let i = 0; i < all.length; i += EVENTS_PER_ROW) pack(i, all.slice(i, i + EVENTS_PER_ROW))
  return rows
}
