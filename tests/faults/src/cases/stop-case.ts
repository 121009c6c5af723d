import { isDeepStrictEqual } from 'node:util'
import type { RecordCommand, Store } from '@troupe/kernel'
import { messageLifecycle, toolLifecycle } from '@troupe/persistence'
import type { CaseResult } from '../campaign-result.ts'
import { Findings } from '../checks/findings.ts'
import { type Snapshot, snapshot } from '../checks/snapshot.ts'
import { Caller, LONG_LEASE } from '../conversation/caller.ts'
import { type CaseEvent, runIdsIn, type WriteEvent } from '../conversation/case-event.ts'
import { CaseSpans } from '../conversation/case-spans.ts'
import { Effects } from '../conversation/effects.ts'
import { seeded } from '../random.ts'
import type { CaseStorage, Databases } from '../store/databases.ts'
import { openStore, type StoreKind } from '../store/open-store.ts'
import { WorkerProcess } from '../worker/worker-process.ts'
import { REF, type SignalPoint } from '../worker/worker-task.ts'
import { recover, waitUntilFree } from './recover.ts'

/** The calls before which a writer is stopped, and how many of them a conversation makes at most while its runs hold the thread. */
const POINTS = [
  { name: 'threads.commit', most: 7 },
  { name: 'records.apply', most: 7 },
  { name: 'runLog.append', most: 14 },
  { name: 'journal.append', most: 14 },
] as const

/** Stops a worker for longer than its lease, lets another caller take the thread over, and continues the worker. */
export async function stopCase(databases: Databases, kind: StoreKind, seed: number): Promise<CaseResult> {
  const { name, most } = POINTS[seed % POINTS.length] as (typeof POINTS)[number]
  for (let number = 1 + seeded(seed).below(most); number > 0; number--) {
    const signalAt: SignalPoint = { by: 'call', name, number, moment: 'before', signal: 'SIGSTOP', holding: true }
    const result = await databases.withStorage(kind, `stop-${seed}-${number}`, (storage) =>
      stopAt(databases, storage, seed, signalAt),
    )
    // This conversation may make fewer calls of this name.
    if (result) return result
  }
  throw new Error(`faults: seed ${seed} makes no call of ${name} while a run holds its thread`)
}

async function stopAt(
  databases: Databases,
  storage: CaseStorage,
  seed: number,
  signalAt: SignalPoint,
): Promise<CaseResult | undefined> {
  const { address, effects: file } = storage
  const findings = new Findings()
  const effects = new Effects(file)
  await using worker = new WorkerProcess(
    { address, ref: REF, effects: file, name: 'w', seed, signalAt },
    databases.cache,
  )
  const later: CaseEvent[] = []
  const counts = { stops: 1, inTransaction: 0, staleWritesRefused: 0, lateRecords: 0 }
  {
    await using store = await openStore(address, { busyTimeoutMs: 600 })
    const stopped = await worker.waitFor((events) => events.some(({ type }) => type === 'hit'))
    const stale = worker.events.findLast((event) => event.type === 'began')?.runId
    if (!stopped || stale === undefined || !(await isRunning(store, stale))) {
      worker.signal('SIGKILL')
      await worker.waitForEnd()
      return undefined
    }
    await waitUntilFree(store, REF)
    const result = await takeOver(store, effects, later)
    if (result === 'complete') {
      const { refused, late } = await continueStale(findings, store, worker, stale, later)
      counts.staleWritesRefused = refused
      counts.lateRecords = late
    } else {
      // It was stopped inside a transaction, which blocks everybody else, so nothing of it is stale when it continues.
      findings.check('a blocked caller gets an error that says so', BLOCKED.includes(result), result)
      counts.inTransaction = 1
      worker.signal('SIGCONT')
      await worker.waitForEnd()
    }
  }
  const events = [...worker.events, ...later]
  const after = await recover({ address, ref: REF, effects, events, random: seeded(seed), findings })
  return { findings, hits: [`before ${signalAt.name}`], counts: { ...counts, ...after } }
}

/** Whether a run holds the thread and has not stored its end yet. */
async function isRunning(store: Store, run: string): Promise<boolean> {
  const { thread, messages } = await snapshot(store, REF, [])
  return thread?.runId === run && (thread.unfinished === run || messages.every(({ runId }) => runId !== run))
}

/** The second one if the machine is too busy for the server to give up first. */
const BLOCKED: readonly string[] = ['STORE_BUSY', 'STORE_UNAVAILABLE']

/** Sends a message to the thread; returns the outcome, or the code of the error. */
async function takeOver(store: Store, effects: Effects, later: CaseEvent[]): Promise<string> {
  await using messages = messageLifecycle({ store, write: { delayMs: 10 } })
  const callbacks = [messages, toolLifecycle({ messages })]
  const record = (event: CaseEvent) => void later.push(event)
  const spans = new CaseSpans(effects.file)
  const taker = new Caller({ store, ref: REF, effects, callbacks, spans, name: 'taker', record, limits: LONG_LEASE })
  const end = await taker.say('take: look pay')
  spans.close()
  const last = later.at(-1)
  return last?.type === 'refused' ? last.code : (end?.error?.code ?? end?.outcome ?? '')
}

async function continueStale(
  findings: Findings,
  store: Store,
  worker: WorkerProcess,
  stale: string,
  later: readonly CaseEvent[],
): Promise<{ readonly refused: number; readonly late: number }> {
  const runs = [...runIdsIn(worker.events), ...runIdsIn(later)]
  const { logs } = await snapshot(store, REF, [stale])
  // No lease protects a log, so the process that takes a thread over closes the log of the dead run.
  await store.runLog.append(REF, stale, logs.get(stale)?.length ?? 0, [], true)
  const before = await snapshot(store, REF, runs)
  worker.signal('SIGCONT')
  const events = await worker.waitForEnd()
  const after = await snapshot(store, REF, runs)
  for (const part of ['thread', 'messages', 'logs'] as const) {
    const same = isDeepStrictEqual(before[part], after[part])
    findings.check(`${part}: nothing of a stale writer is in it`, same, same ? undefined : after[part])
  }
  const end = events.findLast((event) => (event.type === 'ended' || event.type === 'refused') && event.runId === stale)
  const code = end?.type === 'ended' ? end.error?.code : end?.type === 'refused' ? end.code : undefined
  findings.check('the run of a stale writer ends with LEASE_LOST', code === 'LEASE_LOST', end)
  checkRecordsOf(findings, stale, before, after)
  const wrote = events.filter((event) => event.type === 'wrote').filter((event) => isOf(event, stale))
  const accepted = wrote.filter(({ how }) => how === 'accepted')
  for (const write of accepted) findings.check('no stale write is accepted', isLate(write, before), write)
  return { refused: wrote.length - accepted.length, late: accepted.length }
}

/** A stale writer may only add records of a run that had none yet. Contract: they never say that the run is complete. */
function checkRecordsOf(findings: Findings, stale: string, before: Snapshot, after: Snapshot): void {
  const known = new Map(before.runs.map((run) => [run.runId, run]))
  for (const run of after.runs.filter(({ runId }) => runId === stale || runId.startsWith(`${stale}/`))) {
    const former = known.get(run.runId)
    if (former) findings.check(`${run.runId}: its record is as it was`, isDeepStrictEqual(run, former), run)
    else if (run.runId === stale) findings.check(`${stale}: it is recorded as failed`, run.status === 'failed', run)
  }
}

/** Whether a write belongs to the stale run or to a run nested in it; writes of runs that had ended before are not stale. */
function isOf({ command }: WriteEvent, stale: string): boolean {
  if (!command) return true
  const runId = runIdOf(command)
  return runId === stale || runId.startsWith(`${stale}/`)
}

/** Whether a record is late but true: its run had no record when the thread was taken over. */
function isLate({ command }: WriteEvent, before: Snapshot): boolean {
  return command !== undefined && before.runs.every(({ runId }) => runId !== runIdOf(command))
}

function runIdOf(command: RecordCommand): string {
  if (command.type === 'run-start') return command.run.runId
  return command.type === 'tool-call' ? command.call.runId : command.runId
}
