import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { AgUiEvent } from '@troupe/ag-ui'
import type { Json, Message } from '@troupe/kernel'
import { memoryStore } from '@troupe/kernel/memory-store'
import { afterAll, describe, expect, test } from 'vitest'
import { LeaseFile } from '../served/lease-file.ts'
import { Talker } from '../served/talker.ts'
import { Turn } from '../served/turn.ts'
import { Findings } from './findings.ts'
import { checkServed } from './served-checks.ts'

const TEXT = 'Done 1: talk: ; heard 1'
const EVENTS = [
  { type: 'RUN_STARTED', threadId: 't1', runId: 't1-1' },
  { type: 'TEXT_MESSAGE_START', messageId: 'a', role: 'assistant' },
  { type: 'TEXT_MESSAGE_CONTENT', messageId: 'a', delta: TEXT },
  { type: 'TEXT_MESSAGE_END', messageId: 'a' },
  { type: 'RUN_FINISHED', threadId: 't1', runId: 't1-1' },
] as readonly AgUiEvent[]
const ASKED: Message = { id: 'u-t1-1', role: 'user', content: '1: talk' }
const ANSWERED: Message = { id: 'a', role: 'assistant', content: TEXT }

/** The violations of a turn that a client saw like this, on a store that has these messages and this log. */
async function violations(messages: readonly Message[], log: readonly AgUiEvent[], seen = EVENTS) {
  const findings = new Findings()
  await using store = memoryStore()
  const talker = new Talker('t1', { url: () => '', silenceMs: 1 }, findings)
  const turn = new Turn('t1-1', '1: talk', findings)
  talker.turns.push(turn)
  seen.forEach((event, i) => void turn.read({ seq: i + 1, event }))
  const { token } = await store.leases.acquire(talker.ref, { runId: 't1-1', ttlMs: 1_000 })
  await store.threads.open(talker.ref)
  await store.threads.commit(talker.ref, { messages: messages.map((message) => ({ runId: 't1-1', message })) }, token)
  await store.runLog.append(talker.ref, 't1-1', 0, log as unknown as Json[])
  await checkServed(findings, store, talker, [])
  return findings.violations
}

describe('the checks of a thread that servers carried', () => {
  test('find nothing wrong with what its client saw', async () => {
    expect(await violations([ASKED, ANSWERED], EVENTS)).toEqual([])
  })

  const FAULTS: Record<string, () => Promise<readonly string[]>> = {
    'a message that is lost': () => violations([ANSWERED], EVENTS),
    'an answer that is lost': () => violations([ASKED], EVENTS),
    'an answer that is another one': () => violations([ASKED, { ...ANSWERED, content: 'No' }], EVENTS),
    'a message that is doubled': () => violations([ASKED, { ...ASKED, id: 'again' }, ANSWERED], EVENTS),
    'a run that ends twice': () => violations([ASKED, ANSWERED], [...EVENTS, ...EVENTS.slice(-1)]),
    'a run without an end': () => violations([ASKED, ANSWERED], EVENTS, EVENTS.slice(0, -1)),
    'words that a client did not get': () =>
      violations(
        [ASKED, ANSWERED],
        EVENTS,
        EVENTS.map((event) => ('delta' in event ? { ...event, delta: 'x' } : event) as AgUiEvent),
      ),
    'an event that a client did not get': () => violations([ASKED, ANSWERED], EVENTS, EVENTS.toSpliced(1, 1)),
  }
  test.each(Object.entries(FAULTS))('find %s', async (_, found) => {
    expect(await found()).not.toEqual([])
  })
})

describe('effects on a lost lease', () => {
  const folder = mkdtempSync(join(tmpdir(), 'troupe-leases-'))
  afterAll(() => rmSync(folder, { recursive: true }))

  test('are those that a process begins after another one has taken its run', () => {
    const leases = new LeaseFile(join(folder, 'effects'))
    leases.add('r1', 1)
    const effect = { key: 'k', callId: 'c', runId: 'r1', pid: process.pid, began: Number.MAX_SAFE_INTEGER }
    const elsewhere = { ...effect, pid: 0 }
    expect(leases.staleAmong([effect, { ...elsewhere, began: 0 }])).toEqual([])
    expect(leases.staleAmong([effect, elsewhere])).toEqual([elsewhere])
  })
})
