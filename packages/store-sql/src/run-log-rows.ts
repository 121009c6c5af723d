import type { Json, LogEntry } from '@troupe/kernel'
import { jsonText } from '@troupe/kernel/store'
import { fromJson } from './column-text.ts'
import type { Tables } from './schema.ts'

/** The most events and characters in one row; a single event may be larger. */
const EVENTS_PER_ROW = 100
const CHARS_PER_ROW = 65_536

/** A row of events. */
export type EventRow = Omit<Tables['troupe_run_events'], 'log'>

/** The events of a compacted log. Contract: not a list, so that a process of an earlier version fails instead of numbering them from `first_seq` on. */
interface Compacted {
  readonly seqs: readonly number[]
  readonly events: readonly Json[]
}

/** Events as rows; `texts` are the same events as JSON, if they have been made. */
export function eventRows(
  who: string,
  after: number,
  events: readonly Json[],
  texts: readonly string[] = textsOf(who, events),
): readonly EventRow[] {
  return packed(texts, (some, at) => ({
    first_seq: after + at + 1,
    last_seq: after + at + some.length,
    events: `[${some.join(',')}]`,
  }))
}

/** The entries of a compacted log as rows. Contract: a row begins after the one before it, so that a follower inside an entry finds it. */
export function compactRows(who: string, entries: readonly LogEntry[]): readonly EventRow[] {
  const texts = textsOf(
    who,
    entries.map(({ event }) => event),
  )
  return packed(texts, (some, at) => {
    const seqs = entries.slice(at, at + some.length).map(({ seq }) => seq)
    return {
      first_seq: (entries[at - 1]?.seq ?? 0) + 1,
      last_seq: seqs.at(-1) ?? 0,
      events: `{"seqs":[${seqs}],"events":[${some.join(',')}]}`,
    }
  })
}

/** The entries of a row. */
export function entriesOf(first: number, text: string): readonly LogEntry[] {
  const row = fromJson<Json[] | Compacted>(text)
  if ('seqs' in row) return row.events.map((event, i) => ({ seq: row.seqs[i] as number, event }))
  return row.map((event, i) => ({ seq: first + i, event }))
}

function textsOf(who: string, events: readonly Json[]): readonly string[] {
  return events.map((event) => jsonText(who, 'an event', event))
}

/** Puts texts into rows of limited size. */
function packed(
  texts: readonly string[],
  rowOf: (some: readonly string[], at: number) => EventRow,
): readonly EventRow[] {
  const rows: EventRow[] = []
  let [from, chars] = [0, 0]
  const end = (to: number) => {
    if (to > from) rows.push(rowOf(texts.slice(from, to), from))
    from = to
    chars = 0
  }
  for (const [at, text] of texts.entries()) {
    if (at - from === EVENTS_PER_ROW || chars + text.length > CHARS_PER_ROW) end(at)
    chars += text.length
  }
  end(texts.length)
  return rows
}
