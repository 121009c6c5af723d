import { type BaseEvent, EventType } from '@ag-ui/client'
import { expect, it } from 'vitest'
import { Trace } from './trace.ts'

function traceOf(...events: readonly object[]): Trace {
  const trace = new Trace()
  for (const [i, event] of events.entries()) trace.addEvent({ timestamp: i, ...event } as BaseEvent)
  return trace
}

const started = { type: EventType.RUN_STARTED, runId: 'R1' }
const custom = (name: string, value: unknown) => ({ type: EventType.CUSTOM, name, value })

it('shows on the timeline what was summarised and which tools were loaded, below the agent', () => {
  const [run] = traceOf(
    started,
    { type: EventType.STEP_STARTED, stepName: 'guide' },
    custom('tools-loaded', { query: 'ferry', names: ['book_ferry', 'find_ferry'] }),
    custom('compaction', { messages: 12, tokens: 60_000, lines: 3 }),
    custom('compaction-failed', { error: { code: 'MODEL_FAILED' } }),
    custom('weather', { messages: 1 }),
    custom('tools-loaded', null),
  ).runs
  expect(run?.spans.map(({ kind, name, depth, status, to }) => [kind, name, depth, status, to])).toEqual([
    ['agent', 'guide', 0, 'running', undefined],
    ['note', 'loaded book_ferry, find_ferry', 1, 'done', 2],
    ['note', '12 messages summarised', 1, 'done', 3],
    ['note', 'could not be summarised', 1, 'failed', 4],
  ])
})
