import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { RecordCommand, ThreadCommit, ThreadRef } from '@troupe/kernel'
import { messageLifecycle, toolLifecycle } from '@troupe/persistence'
import { afterAll, expect, test } from 'vitest'
import { Caller } from '../conversation/caller.ts'
import { type CaseEvent, runIdsIn } from '../conversation/case-event.ts'
import { CaseSpans } from '../conversation/case-spans.ts'
import { Effects } from '../conversation/effects.ts'
import { openStore } from '../store/open-store.ts'
import { watchedStore } from '../store/watched-store.ts'
import { Findings } from './findings.ts'
import { checkAcknowledged, checkCalls, checkEffects, checkLogs, checkOutcomes, checkRecords } from './invariants.ts'
import { snapshot } from './snapshot.ts'

const folder = mkdtempSync(join(tmpdir(), 'troupe-invariants-'))
afterAll(() => rmSync(folder, { recursive: true }))
let files = 0
const ref: ThreadRef = { app: 'app', user: 'ann', threadId: 'thread' }

/** The ways in which a store changes what it is given. */
interface Corruption {
  readonly commit?: (commit: ThreadCommit) => ThreadCommit
  readonly records?: (commands: readonly RecordCommand[]) => readonly RecordCommand[]
  readonly effect?: (effects: Effects) => void
}

/** The violations that are found after a conversation on a store that changes its data. */
async function violationsOf({ commit, records, effect }: Corruption): Promise<readonly string[]> {
  await using honest = await openStore({ kind: 'sqlite', path: ':memory:' })
  const store = watchedStore(honest, (name, perform, args) => {
    const given = args as unknown[]
    if (name === 'threads.commit' && commit) given[1] = commit(given[1] as ThreadCommit)
    if (name === 'records.apply' && records) given[1] = records(given[1] as readonly RecordCommand[])
    return perform()
  })
  const effects = new Effects(join(folder, `${++files}`))
  const events: CaseEvent[] = []
  {
    await using messages = messageLifecycle({ store, report: () => undefined })
    const callbacks = [messages, toolLifecycle({ messages })]
    const caller = new Caller({
      store,
      ref,
      effects,
      callbacks,
      spans: new CaseSpans(effects.file),
      name: 'w',
      record: (event) => void events.push(event),
    })
    await caller.converse('1: look pay')
    await caller.converse('2: talk')
  }
  effect?.(effects)
  const findings = new Findings()
  const shot = await snapshot(honest, ref, runIdsIn(events))
  checkAcknowledged(findings, shot, events)
  checkCalls(findings, shot)
  checkRecords(findings, shot)
  checkEffects(findings, shot, effects.all())
  checkLogs(findings, shot, events)
  checkOutcomes(findings, shot, events)
  return findings.violations
}

const onMessages =
  (change: (messages: NonNullable<ThreadCommit['messages']>) => ThreadCommit['messages']) =>
  (commit: ThreadCommit): ThreadCommit => ({ ...commit, messages: change(commit.messages ?? []) ?? [] })

test('nothing is found on a store that keeps its word', async () => {
  expect(await violationsOf({})).toEqual([])
})

test.each<[what: string, corruption: Corruption, found: RegExp]>([
  ['loses a turn', { commit: onMessages((all) => all.slice(0, 0)) }, /an acknowledged message is there/],
  ['loses the last message', { commit: onMessages((all) => all.slice(0, -1)) }, /an acknowledged message is there/],
  [
    'loses a result',
    { commit: onMessages((all) => all.filter(({ message }) => message.role !== 'tool')) },
    /1 results/,
  ],
  ['turns a turn around', { commit: onMessages((all) => all.toReversed()) }, /is in order/],
  [
    'changes a message',
    { commit: onMessages((all) => all.map((one) => ({ ...one, message: { ...one.message, content: 'other' } }))) },
    /the same as was shown/,
  ],
  [
    'has a result twice',
    {
      commit: onMessages((all) =>
        all.flatMap((one) => [one, { ...one, message: { ...one.message, id: `${one.message.id}'` } }]),
      ),
    },
    /1 results; seen: 2/,
  ],
  ['never ends a run', { records: (all) => all.filter(({ type }) => type !== 'run-finish') }, /its record is closed/],
  ['knows nothing of a run', { records: () => [] }, /its record says how it ended/],
  [
    'ends a run with another text',
    { records: (all) => all.filter(({ type }) => type !== 'run-text') },
    /a complete run is in the thread with its text/,
  ],
  [
    'never ends a call',
    { records: (all) => all.filter((one) => one.type !== 'tool-call' || one.call.status === 'running') },
    /its record is settled/,
  ],
  [
    'does something twice',
    { effect: (effects) => effects.add(effects.all()[0] ?? { key: '', callId: '', runId: '', began: 0, pid: 0 }) },
    /nothing was done twice/,
  ],
])('it is found when a store %s', async (_what, corruption, what) => {
  const violations = await violationsOf(corruption)
  expect(
    violations.some((violation) => what.test(violation)),
    violations.join('\n'),
  ).toBe(true)
})
