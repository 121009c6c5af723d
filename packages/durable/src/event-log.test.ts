import type { AgentEvent, EventDraft } from '@troupe/kernel'
import { systemClock } from '@troupe/kernel/kit'
import { memoryStore } from '@troupe/kernel/memory-store'
import { describe, expect, it, vi } from 'vitest'
import { beginEvents, EventLog, type EventLogPlace, eventLogId, readEvents } from './event-log.ts'
import { followEvents } from './follow-events.ts'
import type { RunOrder } from './run-order.ts'

const ref = { app: 'a', user: 'u', threadId: 't' }
const order: RunOrder = { ref, runId: 'r', agent: 'a', input: { messages: [] } }
const by = (draft: EventDraft) => ({ runId: 'r', agentName: 'a', runPath: [], ...draft }) as AgentEvent
const word = (delta: string) => by({ type: 'text-delta', messageId: 'm', delta })
const END = by({ type: 'run-end', outcome: 'complete', text: '', usage: { inputTokens: 0, outputTokens: 0 } })

async function place(): Promise<EventLogPlace> {
  const store = memoryStore()
  await store.threads.open(ref)
  const here = { runLog: store.runLog, ref, runId: 'r', clock: systemClock }
  await beginEvents(here, order)
  return here
}

const alive = () => new AbortController().signal

/** An attempt that must not fail. */
const open = (here: EventLogPlace, gone: AbortSignal = alive()) =>
  EventLog.takeOver(here, gone, (error) => expect.unreachable(String(error)))

const types = async (here: EventLogPlace) => (await readEvents(here)).map(({ type }) => type)

describe('the log of a run', () => {
  it('begins with the order, and has the events of an attempt', async () => {
    const here = await place()
    const { log, entries } = await open(here)
    expect(entries).toEqual([{ type: '~order', order }])
    for (const event of [word('a'), word('b')]) log.write(event)
    await log.close([END])
    expect(await readEvents(here)).toEqual([{ type: '~order', order }, word('a'), word('b'), END])
    const read: string[] = []
    for await (const { type } of followEvents(here, { signal: alive(), isOver: async () => false })) read.push(type)
    expect(read).toEqual(['~order', 'text-delta', 'text-delta', 'run-end'])
  })

  it('is marked by the next attempt, and the one before fails and writes no more', async () => {
    const here = await place()
    const failed = vi.fn()
    const { log: former } = await EventLog.takeOver(here, alive(), failed)
    former.write(word('a'))
    await vi.waitFor(async () => expect(await types(here)).toHaveLength(2))
    const { entries } = await open(here)
    expect(entries.map(({ type }) => type)).toEqual(['~order', 'text-delta'])
    former.write(word('late'))
    await vi.waitFor(() => expect(failed).toHaveBeenCalledOnce())
    expect(failed).toHaveBeenCalledWith(expect.objectContaining({ code: 'VERSION_CONFLICT' }))
    former.write(word('later'))
    expect(await types(here)).toEqual(['~order', 'text-delta', '~attempt'])
  })

  it('gets no event of an attempt that was given up', async () => {
    const here = await place()
    const gone = new AbortController()
    const { log } = await open(here, gone.signal)
    gone.abort()
    log.write(word('late'))
    expect(await types(here)).toEqual(['~order'])
  })

  it('gives the events that are not written yet, so that they can be recorded with the end', async () => {
    const here = await place()
    const { log } = await open(here)
    for (const delta of ['a', 'b', 'c']) log.write(word(delta))
    const unwritten = await log.takeUnwritten()
    const written = (await readEvents(here)).slice(1)
    expect([...written, ...unwritten]).toEqual([word('a'), word('b'), word('c')])
    await log.close([...unwritten, END])
    expect((await readEvents(here)).slice(1)).toEqual([word('a'), word('b'), word('c'), END])
  })

  it('is left alone by an attempt that finds the end', async () => {
    const here = await place()
    const { log } = await open(here)
    await log.close([END])
    const { entries } = await open(here)
    expect([entries.at(-1), await types(here)]).toEqual([END, ['~order', 'run-end']])
  })

  it('is beside that of a server, under another id', async () => {
    const here = await place()
    await here.runLog.append(ref, 'r', 0, ['shown'])
    expect(eventLogId('r')).not.toBe('r')
    expect(await types(here)).toEqual(['~order'])
  })
})
