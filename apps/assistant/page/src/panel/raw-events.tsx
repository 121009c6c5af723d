import type { BaseEvent } from '@ag-ui/client'
import { useState } from 'react'

/** The most groups that are shown. */
const MAX_SHOWN = 250

/** Consecutive events that differ only in their delta. */
interface Group {
  readonly key: string
  readonly type: string
  readonly events: BaseEvent[]
}

/** Every AG-UI event of the conversation, as it was received. */
export function RawEvents({ events }: { readonly events: readonly BaseEvent[] }) {
  const [filter, setFilter] = useState('')
  const wanted = filter.toLowerCase()
  const groups = grouped(events.filter((event) => !wanted || JSON.stringify(event).toLowerCase().includes(wanted)))
  return (
    <section className="events">
      <div className="events-head">
        <h2>{events.length} events</h2>
        <input
          value={filter}
          aria-label="Filter events"
          placeholder="Filter"
          onChange={(event) => setFilter(event.target.value)}
        />
      </div>
      {groups.length === 0 && <p className="empty">{wanted ? 'No event contains this.' : 'Nothing has run yet.'}</p>}
      {groups.length > MAX_SHOWN && <p className="hint">The last {MAX_SHOWN} lines. The filter finds the others.</p>}
      <ol>
        {groups.slice(-MAX_SHOWN).map(({ key, type, events: list }) => (
          <li key={key}>
            <details>
              <summary>
                <code>{type}</code>
                {list.length > 1 && <span> × {list.length}</span>} <span>{summaryOf(list)}</span>
              </summary>
              <pre>{list.map((event) => JSON.stringify(event, null, 2)).join('\n')}</pre>
            </details>
          </li>
        ))}
      </ol>
    </section>
  )
}

/** The field that distinguishes an event from others of its type. */
function summaryOf(events: readonly BaseEvent[]): string {
  const [first = {}] = events as readonly Record<string, unknown>[]
  if (typeof first.delta === 'string') return events.map((event) => (event as { delta?: unknown }).delta ?? '').join('')
  const { stepName, toolCallName, name, content, outcome, toolCallId } = first
  const type = (outcome as { type?: unknown } | undefined)?.type
  return String(stepName ?? toolCallName ?? name ?? content ?? type ?? toolCallId ?? '')
}

function grouped(events: readonly BaseEvent[]): readonly Group[] {
  const groups: Group[] = []
  events.forEach((event, i) => {
    const last = groups.at(-1)
    const isDelta = 'delta' in event
    if (isDelta && last?.type === event.type) last.events.push(event)
    else groups.push({ key: `${i}`, type: event.type, events: [event] })
  })
  return groups
}
