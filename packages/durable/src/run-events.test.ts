import type { AgentEvent, EventDraft, Json } from '@troupe/kernel'
import { systemClock } from '@troupe/kernel/kit'
import { memoryStore } from '@troupe/kernel/memory-store'
import { describe, expect, it } from 'vitest'
import { type EventLogPlace, eventLogId } from './event-log.ts'
import { RunEvents } from './run-events.ts'

const ref = { app: 'a', user: 'u', threadId: 't' }
const by = (draft: EventDraft) => ({ runId: 'r', agentName: 'a', runPath: [], ...draft }) as AgentEvent
const word = (delta: string) => by({ type: 'text-delta', messageId: 'm', delta })
const START = by({ type: 'run-start' })
const END = by({ type: 'run-end', outcome: 'complete', text: '', usage: { inputTokens: 0, outputTokens: 0 } })

/** A log whose end is lost once: a follower gets the first entries, and then those after them of the second. */
function cutLog(first: readonly object[], second: readonly object[]): EventLogPlace {
  let reads = 0
  const runLog = {
    ...memoryStore().runLog,
    async *follow(_ref: unknown, id: string, { after = 0 }: { readonly after?: number }) {
      expect(id).toBe(eventLogId('r'))
      const entries = reads++ === 0 ? [...first, ...second.slice(first.length)] : second
      for (const [i, event] of entries.entries()) if (i >= after) yield [{ seq: i + 1, event: event as Json }]
    },
  }
  return { runLog, ref, runId: 'r', clock: systemClock }
}

async function read(place: EventLogPlace, before: readonly AgentEvent[] = []): Promise<readonly AgentEvent[]> {
  let released = 0
  const following = {
    signal: new AbortController().signal,
    isOver: async () => true,
    release: () => void released++,
  }
  const events: AgentEvent[] = []
  for await (const event of new RunEvents(place, following, before)) events.push(event)
  expect(released).toBe(1)
  return events
}

describe('the events of a run', () => {
  const order = { type: '~order' }

  it('are those of its attempts, in order', async () => {
    const log = [
      order,
      START,
      word('a'),
      { type: '~attempt', mark: 'x' },
      { ...word('b'), '~': 'x' },
      { ...END, '~': 'x' },
    ]
    expect(await read(cutLog(log, log))).toEqual([START, word('a'), word('b'), END])
  })

  it('are given once if the log has lost its end and another attempt has written it anew', async () => {
    const first = [order, START, word('one '), word('two '), word('three')]
    const marked = [{ type: '~attempt', mark: 'x' }, word('two three'), word(' four'), END]
    const second = [
      order,
      START,
      word('one '),
      ...marked.map((entry) => ({ ...entry, ...(entry.type !== '~attempt' && { '~': 'x' }) })),
    ]
    // The reader has five entries, so it misses the mark, which is the fourth one now.
    const events = await read(cutLog(first, second))
    expect(events.map((event) => ('delta' in event ? event.delta : event.type))).toEqual([
      'run-start',
      'one ',
      'two ',
      'three',
      ' four',
      'run-end',
    ])
  })

  it('are not given to a reader that has them', async () => {
    const log = [order, START, word('ab'), word('c'), END]
    expect(await read(cutLog(log, log), [START, word('a')])).toEqual([word('b'), word('c'), END])
  })

  it('of a run that never began are its reason', async () => {
    const log = [order, { type: '~refused', error: { code: 'PENDING_TOOL_CALLS', message: 'Answer first.' } }]
    await expect(read(cutLog(log, log))).rejects.toMatchObject({ code: 'PENDING_TOOL_CALLS', message: 'Answer first.' })
  })
})
