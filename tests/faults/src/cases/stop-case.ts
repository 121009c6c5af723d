import { isDeepStrictEqual } from 'node:util'
import type { RecordCommand, Store } from '@troupe/kernel'
import { messageLifecycle, toolLifecycle } from '@troupe/persistence'
import type { CaseResult } from '../campaign-result.ts'
import { Findings } from '../checks/findings.ts'
import { type Snapshot, snapshot } from '../checks/snapshot.ts'
import { Caller, UNHURRIED } from '../conversation/caller.ts'
import type { Line, Wrote } from '../conversation/case-event.ts'
import { Effects } from '../conversation/effects.ts'
import { seeded } from '../random.ts'
import type { Databases, Room } from '../store/databases.ts'
import { openStore, type StoreKind } from '../store/open-store.ts'
import { Child } from '../worker/worker-process.ts'
import { type Hit, REF } from '../worker/worker-task.ts'
import { freed, goOn, runsIn } from './recover.ts'

/** Calls before which a writer is stopped, and how many of them to count while its runs hold the thread. */
const POINTS = [
  { name: 'threads.commit', most: 7 },
  { name: 'records.apply', most: 7 },
  { name: 'runLog.append', most: 14 },
  { name: 'threads.messages', most: 7 },
] as const

/** Stops a worker that holds a thread for longer than its lease, lets another take the thread over, and lets the first go on. */
export async function stopCase(databases: Databases, kind: StoreKind, seed: number): Promise<CaseResult> {
  const { name, most } = POINTS[seed % POINTS.length] as (typeof POINTS)[number]
  for (let number = 1 + seeded(seed).below(most); number > 0; number--) {
    const hit: Hit = { by: 'call', name, number, moment: 'before', signal: 'SIGSTOP', holding: true }
    const result = await databases.within(kind, `stop-${seed}-${number}`, (room) => stopAt(databases, room, seed, hit))
    // There may be fewer than that in this conversation.
    if (result) return result
  }
  throw new Error(`faults: no ${name} of seed ${seed} is made by a run that holds its thread`)
}

async function stopAt(databases: Databases, room: Room, seed: number, hit: Hit): Promise<CaseResult | undefined> {
  const { place, effects: file } = room
  const findings = new Findings()
  const effects = new Effects(file)
  await using child = new Child({ place, ref: REF, effects: file, name: 'w', seed, hit }, databases.cache)
  const told: Line[] = []
  const counts = { stops: 1, inTransaction: 0, staleWritesRefused: 0, lateRecords: 0 }
  {
    await using store = await openStore(place, { patienceMs: 600 })
    const stopped = await child.told((lines) => lines.some(({ type }) => type === 'hit'))
    const stale = child.lines.findLast((line) => line.type === 'began')?.runId
    if (!stopped || stale === undefined || !(await isUnderWay(store, stale))) {
      child.signal('SIGKILL')
      await child.ended()
      return undefined
    }
    await freed(store, REF)
    const taken = await takeOver(store, effects, told)
    if (taken === 'complete') {
      const { refused, late } = await goesOnStale(findings, store, child, stale, told)
      counts.staleWritesRefused = refused
      counts.lateRecords = late
    } else {
      // It was stopped in a transaction: nobody gets past it, so nothing of it is stale when it goes on.
      findings.check('whoever cannot get past is told so', taken === BLOCKED[place.kind], taken)
      counts.inTransaction = 1
      child.signal('SIGCONT')
      await child.ended()
    }
  }
  const lines = [...child.lines, ...told]
  const after = await goOn({ place, ref: REF, effects, lines, random: seeded(seed), findings })
  return { findings, hits: [`before ${hit.name}`], counts: { ...counts, ...after } }
}

/** Whether a run holds the thread and has stored nothing yet. */
async function isUnderWay(store: Store, run: string): Promise<boolean> {
  const { thread, messages } = await snapshot(store, REF, [])
  return thread?.runId === run && messages.every(({ runId }) => runId !== run)
}

const BLOCKED: { readonly [kind in StoreKind]: string } = { sqlite: 'STORE_BUSY', postgres: 'STORE_UNAVAILABLE' }

/** Says something in the thread; gives how that ended, or the code of what was in the way. */
async function takeOver(store: Store, effects: Effects, told: Line[]): Promise<string> {
  await using messages = messageLifecycle({ store, write: { delayMs: 10 } })
  const callbacks = [messages, toolLifecycle({ messages })]
  const tell = (line: Line) => void told.push(line)
  const taker = new Caller({ store, ref: REF, effects, callbacks, name: 'taker', tell, limits: UNHURRIED })
  const end = await taker.say('take: look pay')
  const last = told.at(-1)
  return last?.type === 'refused' ? last.code : (end?.error?.code ?? end?.outcome ?? '')
}

async function goesOnStale(
  findings: Findings,
  store: Store,
  child: Child,
  stale: string,
  told: readonly Line[],
): Promise<{ readonly refused: number; readonly late: number }> {
  const runs = [...runsIn(child.lines), ...runsIn(told)]
  const { logs } = await snapshot(store, REF, [stale])
  // A log is not held by a lease: whoever takes a run for dead closes its log.
  await store.runLog.append(REF, stale, logs.get(stale)?.length ?? 0, [], true)
  const before = await snapshot(store, REF, runs)
  child.signal('SIGCONT')
  const lines = await child.ended()
  const after = await snapshot(store, REF, runs)
  for (const part of ['thread', 'messages', 'logs'] as const) {
    const same = isDeepStrictEqual(before[part], after[part])
    findings.check(`${part}: nothing of a stale writer is in it`, same, same ? undefined : after[part])
  }
  const end = lines.findLast((line) => line.type === 'ended' && line.runId === stale)
  const code = end?.type === 'ended' ? end.error?.code : undefined
  findings.check('the run of a stale writer ends with LEASE_LOST', code === 'LEASE_LOST', end)
  checkRecordsOf(findings, stale, before, after)
  const wrote = lines.filter((line) => line.type === 'wrote').filter((line) => isOf(line, stale))
  const accepted = wrote.filter(({ how }) => how === 'accepted')
  for (const line of accepted) findings.check('no stale write is accepted', isLate(line, before), line)
  return { refused: wrote.length - accepted.length, late: accepted.length }
}

/** What a stale writer may have added to the records: what became of a run that they had not heard of. Contract: never that it is complete. */
function checkRecordsOf(findings: Findings, stale: string, before: Snapshot, after: Snapshot): void {
  const known = new Map(before.runs.map((run) => [run.runId, run]))
  for (const run of after.runs.filter(({ runId }) => runId === stale || runId.startsWith(`${stale}/`))) {
    const former = known.get(run.runId)
    if (former) findings.check(`${run.runId}: its record is as it was`, isDeepStrictEqual(run, former), run)
    else if (run.runId === stale) findings.check(`${stale}: it is recorded as failed`, run.status === 'failed', run)
  }
}

/** Whether a write is of the stale run, or of one nested in it; those of runs that had ended before are not stale. */
function isOf({ command }: Wrote, stale: string): boolean {
  if (!command) return true
  const runId = subjectOf(command)
  return runId === stale || runId.startsWith(`${stale}/`)
}

/** Whether a record comes late but is true: of a run that had no record when its thread was taken over. */
function isLate({ command }: Wrote, before: Snapshot): boolean {
  return command !== undefined && before.runs.every(({ runId }) => runId !== subjectOf(command))
}

function subjectOf(command: RecordCommand): string {
  if (command.type === 'run-start') return command.run.runId
  return command.type === 'tool-call' ? command.call.runId : command.runId
}
