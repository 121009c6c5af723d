import type { AgentEvent, EventDraft, Json } from '@troupe/kernel'
import { nextMacrotask } from '@troupe/kernel/kit'
import { memoryStore } from '@troupe/kernel/memory-store'
import { fakeClock } from '@troupe/testkit'
import { describe, expect, it } from 'vitest'
import { eventLogId } from './event-log.ts'
import { RunEvents } from './run-events.ts'

const ref = { app: 'a', user: 'u', threadId: 't' }
const by = (draft: EventDraft) => ({ runId: 'r', agentName: 'a', runPath: [], ...draft }) as AgentEvent
const START = by({ type: 'run-start' })
const END = by({ type: 'run-end', outcome: 'complete', text: '', usage: { inputTokens: 0, outputTokens: 0 } })

/** A log that stands still after its first event, and a reader of it. */
async function still(isOver: () => Promise<boolean>) {
  const store = memoryStore()
  const clock = fakeClock()
  await store.threads.open(ref)
  await store.runLog.append(ref, eventLogId('r'), 0, [{ type: '~order' }, START as unknown as Json])
  const place = { runLog: store.runLog, ref, runId: 'r', clock }
  const events: AgentEvent[] = []
  let asked = 0
  const following = {
    signal: new AbortController().signal,
    isOver: () => {
      asked++
      return isOver()
    },
    release: () => undefined,
  }
  const read = (async () => {
    for await (const event of new RunEvents(place, following)) events.push(event)
  })()
  read.catch(() => undefined)
  const pass = async (ms: number) => {
    for (let turn = 0; turn < 20; turn++) await nextMacrotask()
    clock.advance(ms)
    for (let turn = 0; turn < 20; turn++) await nextMacrotask()
  }
  return { store, events, read, pass, asked: () => asked }
}

describe('a log that stands still', () => {
  it('is read to its end while the engine has the run, however long that takes', async () => {
    const { store, events, read, pass, asked } = await still(async () => false)
    await pass(4_999)
    expect(asked()).toBe(0)
    await pass(1)
    await pass(5_000)
    expect(asked()).toBe(2)
    await store.runLog.append(ref, eventLogId('r'), 2, [END as unknown as Json], true)
    await read
    expect(events).toEqual([START, END])
  })

  it('has lost its end if the engine is done with the run: its reader gets an error and does not wait for ever', async () => {
    const { events, read, pass } = await still(async () => true)
    await pass(5_000)
    await expect(read).rejects.toMatchObject({ code: 'NOT_FOUND', message: expect.stringContaining('in its thread') })
    expect(events).toEqual([START])
  })

  it('that was ended a moment before the engine was asked is read to its end', async () => {
    const { store, events, read, pass } = await still(async () => {
      await store.runLog.append(ref, eventLogId('r'), 2, [END as unknown as Json], true)
      return true
    })
    await pass(5_000)
    await read
    expect(events).toEqual([START, END])
  })

  it('is followed while the engine cannot be asked', async () => {
    const { store, events, read, pass } = await still(async () => {
      throw new Error('unreachable')
    })
    await pass(5_000)
    await store.runLog.append(ref, eventLogId('r'), 2, [END as unknown as Json], true)
    await read
    expect(events).toEqual([START, END])
  })
})
