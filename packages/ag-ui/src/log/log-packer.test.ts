import { EventType } from '@ag-ui/core'
import type { Json, LogEntry } from '@troupe/kernel'
import { memoryStore } from '@troupe/kernel/memory-store'
import { describe, expect, it, test } from 'vitest'
import { clientOf, official, strict } from '../pipeline.fixture.ts'
import { type AgUiEvent, isTerminal } from '../protocol.ts'
import { randomOf } from '../translate/random.fixture.ts'
import { randomRun, USER } from '../translate/random-run.fixture.ts'
import { LogPacker } from './log-packer.ts'
import { unpacked } from './packed-events.ts'
import { readRunLog } from './read-run-log.ts'
import { textPieceOf, withDelta } from './text-piece.ts'

const STARTED: AgUiEvent = { type: EventType.RUN_STARTED, threadId: 't', runId: 'r' }
const FINISHED: AgUiEvent = { type: EventType.RUN_FINISHED, threadId: 't', runId: 'r' }
const start = (messageId: string): AgUiEvent => ({ type: EventType.TEXT_MESSAGE_START, messageId, role: 'assistant' })
const text = (messageId: string, delta: string, more: object = {}): AgUiEvent => ({
  type: EventType.TEXT_MESSAGE_CONTENT,
  messageId,
  delta,
  ...more,
})
const end = (messageId: string): AgUiEvent => ({ type: EventType.TEXT_MESSAGE_END, messageId })
const state = (snapshot: Json): AgUiEvent => ({ type: EventType.STATE_SNAPSHOT, snapshot })
const set = (key: string, value: Json): AgUiEvent => ({
  type: EventType.STATE_DELTA,
  delta: [{ op: 'add', path: `/${key}`, value }],
})
const output = (delta: string): AgUiEvent => ({
  type: EventType.CUSTOM,
  name: 'tool-delta',
  value: { toolCallId: 'c', delta },
})

function compacted(events: readonly AgUiEvent[]): readonly LogEntry[] {
  const packer = new LogPacker()
  for (const event of events) packer.add(event, JSON.stringify(event).length)
  return JSON.parse(JSON.stringify(packer.entries()))
}

/** What a reader at a sequence gets of a compacted log. */
function restOf(entries: readonly LogEntry[], after: number): readonly AgUiEvent[] {
  const later = entries.filter(({ seq }) => seq > after)
  return later.flatMap(({ seq, event }) => unpacked(seq, event, after)).map(({ event }) => event)
}

/** Events without state, with neighbouring pieces of a text as one. */
function joined(events: readonly AgUiEvent[]): readonly AgUiEvent[] {
  const out: AgUiEvent[] = []
  for (const event of events) {
    if (event.type === EventType.STATE_SNAPSHOT || event.type === EventType.STATE_DELTA) continue
    const [piece, last] = [textPieceOf(event), out.at(-1)]
    const before = last && textPieceOf(last)
    if (last && piece && before?.key === piece.key) out.splice(-1, 1, withDelta(last, before.delta + piece.delta))
    else out.push(event)
  }
  return out
}

function expectSameForEveryReader(events: readonly AgUiEvent[]): readonly LogEntry[] {
  const entries = compacted(events)
  expect(entries.at(-1)?.seq).toBe(events.length)
  for (let after = 0; after <= events.length; after++) {
    const all = [...events.slice(0, after), ...restOf(entries, after)]
    expect(joined(all), `after ${after}`).toEqual(joined(events))
  }
  return entries
}

describe('a compacted log', () => {
  it('has a text in one piece, and gives the rest of it to a reader in its middle', () => {
    const words = ['Hel', 'lo', ', ', 'wor', 'ld', '.']
    const events = [STARTED, start('m'), ...words.map((word) => text('m', word)), end('m'), FINISHED]
    const entries = expectSameForEveryReader(events)
    expect(restOf(entries, 0)).toEqual([STARTED, start('m'), text('m', 'Hello, world.'), end('m'), FINISHED])
    expect(restOf(entries, 4)).toEqual([text('m', ', world.'), end('m'), FINISHED])
  })

  it('keeps the order of texts that come at the same time', () => {
    const both = Array.from({ length: 60 }, (_, i) => text(i % 3 === 0 ? 'a' : 'b', `${i} `))
    const events = [STARTED, start('a'), start('b'), ...both, end('b'), text('a', 'last'), end('a'), FINISHED]
    const entries = expectSameForEveryReader(events)
    expect(JSON.stringify(entries).length).toBeLessThan(JSON.stringify(events).length / 5)
  })

  it('takes pieces with other fields for another text, and times for nothing', () => {
    const more = { metadata: { sources: [1] } }
    const pieces = [text('m', 'a', { timestamp: 1 }), text('m', 'b', { timestamp: 2 }), text('m', 'c', more)]
    const entries = compacted([STARTED, start('m'), ...pieces, text('m', 'd'), end('m'), FINISHED])
    expect(restOf(entries, 2)).toEqual([
      text('m', 'ab', { timestamp: 1 }),
      text('m', 'c', more),
      text('m', 'd'),
      end('m'),
      FINISHED,
    ])
  })

  it('has what a tool shows while it runs in one piece', () => {
    const events = [STARTED, ...Array.from({ length: 20 }, (_, i) => output(`line ${i}\n`)), FINISHED]
    expect(restOf(expectSameForEveryReader(events), 0)).toHaveLength(3)
  })

  it('has only the last state, for readers from every place', () => {
    const changes = Array.from({ length: 50 }, (_, i) => set('progress', i))
    const events = [STARTED, state({ a: 1 }), ...changes, FINISHED]
    const entries = expectSameForEveryReader(events)
    for (let after = 0; after <= 51; after++) {
      expect(restOf(entries, after).slice(-2)).toEqual([state({ a: 1, progress: 49 }), FINISHED])
    }
    expect(restOf(entries, 52)).toEqual([FINISHED])
  })

  it('keeps patches whose base is not known, and those that do not apply', () => {
    const odd: AgUiEvent = { type: EventType.STATE_DELTA, delta: [{ op: 'test', path: '/a', value: 1 }] }
    const events = [STARTED, set('x', 1), state({ a: 1 }), set('b', 2), odd, set('c', 3), FINISHED]
    expect(restOf(compacted(events), 0)).toEqual([
      STARTED,
      set('x', 1),
      state({ a: 1, b: 2 }),
      odd,
      set('c', 3),
      FINISHED,
    ])
  })

  it('is in entries of limited size, and a text goes on in the next one', () => {
    const events = [STARTED, start('m'), ...Array.from({ length: 9_000 }, () => text('m', 'ten chars.')), end('m')]
    const entries = compacted(events)
    expect(entries.length).toBeGreaterThan(2)
    expect(Math.max(...entries.map((entry) => JSON.stringify(entry).length))).toBeLessThan(40_000)
    for (const after of [0, 1, 2, 3, 2_900, 3_000, 8_999, 9_001, 9_002]) {
      expect(joined([...events.slice(0, after), ...restOf(entries, after)])).toEqual(joined(events))
    }
  })

  it('is not worth it for a log without pieces', () => {
    const packer = new LogPacker()
    for (const event of [STARTED, start('m'), text('m', 'Hello'), end('m'), FINISHED]) {
      packer.add(event, JSON.stringify(event).length)
    }
    expect(packer.worthIt).toBe(false)
  })

  it('is counted on when the packer holds no more, and read again only if it is worth it', () => {
    const pack = (events: readonly AgUiEvent[]) => {
      const packer = new LogPacker(1_000)
      for (const event of events) packer.add(event, JSON.stringify(event).length)
      return packer
    }
    const large = text('m', 'x'.repeat(2_000))
    const whole = pack([STARTED, start('m'), large, end('m'), FINISHED])
    expect([whole.isWhole, whole.worthIt]).toEqual([false, false])
    const pieces = pack([STARTED, start('m'), large, ...Array.from({ length: 100 }, () => text('m', 'a')), FINISHED])
    expect([pieces.isWhole, pieces.worthIt]).toEqual([false, true])
    expect(pieces.chars).toBeLessThan(3_000)
  })

  it('splits no text at a wrong place, whatever its characters', () => {
    const awkward = [
      '\ud83d',
      '\ude80',
      '\u0000',
      '"\\',
      'é',
      '\ud800',
      'a'.repeat(46),
      'b'.repeat(47),
      'c'.repeat(5_000),
    ]
    expectSameForEveryReader([STARTED, start('m'), ...awkward.map((delta) => text('m', delta)), end('m'), FINISHED])
  })

  it('leaves empty pieces as they are', () => {
    expectSameForEveryReader([STARTED, start('m'), text('m', ''), text('m', 'a'), text('m', ''), end('m'), FINISHED])
  })
})

const RUNS = Number(process.env.RUNS ?? 60)

test(`${RUNS} random runs: a reader at every place of the log has the same in the end, whether it was compacted or not`, async () => {
  for (let seed = 0; seed < RUNS; seed++) {
    const { events, past } = await randomRun(randomOf(seed), false, { messages: [USER] }, 'R1', {})
    const entries = expectSameForEveryReader(events)
    strict(restOf(entries, 0), past)
    const whole = await clientOf(events, past)
    for (let after = seed % 7; after <= events.length; after += 7) {
      const all = [...events.slice(0, after), ...restOf(entries, after)]
      expect(await official(all)).toHaveLength(all.length)
      expect(await clientOf(all, past), `seed ${seed}, after ${after}`).toEqual(whole)
      expect(all.filter(isTerminal)).toEqual(events.slice(-1))
    }
  }
}, 120_000)

test('a reader of a log that is compacted between its batches goes on without gap or duplicate', async () => {
  const store = memoryStore()
  const ref = { app: 'a', user: 'u', threadId: 't' }
  await store.threads.open(ref)
  const words = Array.from({ length: 900 }, (_, i) => text('m', `${i} `))
  const events = [STARTED, start('m'), ...words, end('m'), FINISHED]
  await store.runLog.append(ref, 'r', 0, events as unknown as Json[], true)
  const { signal } = new AbortController()
  const seen: AgUiEvent[] = []
  for await (const batch of readRunLog(store.runLog, ref, 'r', { signal })) {
    if (seen.length === 0) expect(await store.runLog.compact(ref, 'r', compacted(events))).toBe(true)
    seen.push(...batch.map(({ event }) => event))
  }
  expect(seen.length).toBeLessThan(events.length / 2)
  expect(joined(seen)).toEqual(joined(events))
})
