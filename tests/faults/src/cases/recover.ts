import { KernelError, type Store, type ThreadRef } from '@troupe/kernel'
import { loadHistory, messageLifecycle, reconcile, toolLifecycle } from '@troupe/persistence'
import { checkSpans } from '../checks/check-spans.ts'
import type { Findings } from '../checks/findings.ts'
import {
  checkAcknowledged,
  checkCalls,
  checkEffects,
  checkLogs,
  checkOutcomes,
  checkRecords,
  unknownIn,
} from '../checks/invariants.ts'
import { awaitedIn, type Snapshot, snapshot } from '../checks/snapshot.ts'
import { userMessagesIn } from '../conversation/bookkeeper.ts'
import { Caller, LEASE_MS, LONG_LEASE } from '../conversation/caller.ts'
import { type CaseEvent, runIdsIn } from '../conversation/case-event.ts'
import { CaseSpans } from '../conversation/case-spans.ts'
import type { Effects } from '../conversation/effects.ts'
import type { Random } from '../random.ts'
import { openStore, type StoreAddress } from '../store/open-store.ts'

/** The state that a fault has left behind. */
export interface FaultedCase {
  readonly address: StoreAddress
  readonly ref: ThreadRef
  readonly effects: Effects
  /** The events of all processes, in order. */
  readonly events: readonly CaseEvent[]
  readonly random: Random
  readonly findings: Findings
}

/** What the recovery did. */
export interface RecoveryCounts {
  readonly continued: number
  readonly resumed: number
  readonly delivered: number
  readonly brokenOff: number
  readonly unknown: number
  readonly reconciled: number
}

/** Continues after a fault in this process: reconciles, answers open questions and calls, sends one more message, and checks every invariant. */
export async function recover(faulted: FaultedCase): Promise<RecoveryCounts> {
  const { address, ref, effects, events, random, findings } = faulted
  await using store = await openStore(address)
  await using other = await openStore(address)
  let reconciled = 0
  // Reconciling may come before or after the next caller takes the thread over.
  if (random.chance(0.5)) {
    await waitUntilFree(store, ref)
    reconciled += await cleanUp(findings, store, other, ref)
    inspect(faulted, await snapshot(store, ref, runIdsIn(events)), events)
  }
  const later: CaseEvent[] = []
  await using messages = messageLifecycle({ store, write: { delayMs: 10 } })
  const callbacks = [messages, toolLifecycle({ messages })]
  const record = (event: CaseEvent) => void later.push(event)
  const spans = new CaseSpans(effects.file)
  const parts = { ref, effects, spans, limits: LONG_LEASE }
  const caller = new Caller({ ...parts, store, callbacks, name: 'after', record })
  const rival = new Caller({ ...parts, store: other, callbacks: [], name: 'rival', record: () => {} })
  const continued = random.chance(0.5) ? await continueLost(faulted, [caller, rival], later, store) : 0
  const { resumed, delivered, brokenOff } = await answerWhatIsOpen(faulted, caller, later, store)
  const stored = (await store.threads.messages(ref, { limit: 1_000 })).map(({ message }) => message)
  const end = await caller.say('last: look pay')
  const heard = `; heard ${userMessagesIn(stored) + 1}`
  findings.check('the next run works', end?.outcome === 'complete', end ?? later.at(-1))
  findings.check('the next run sees the whole history', end?.text.endsWith(heard) === true, end?.text)
  await messages.flush()
  reconciled += await cleanUp(findings, store, other, ref)
  const all = [...events, ...later]
  const shot = await snapshot(other, ref, runIdsIn(all))
  inspect(faulted, shot, all)
  checkOutcomes(findings, shot, later)
  spans.close()
  checkSpans(findings, effects.file)
  findings.check('nothing is open in the end', awaitedIn(shot).size === 0 && !shot.thread?.checkpoint, shot.thread)
  const history = await loadHistory(store, ref)
  findings.check('the history is complete', history.length === shot.messages.length, history.length)
  return { continued, resumed, delivered, brokenOff, reconciled, unknown: unknownIn(shot) }
}

/** Goes on with the run that the fault has cut off, if there is one, in two processes at once: one of them wins. */
async function continueLost(
  { findings, ref }: FaultedCase,
  callers: readonly Caller[],
  later: readonly CaseEvent[],
  store: Store,
): Promise<number> {
  await waitUntilFree(store, ref)
  const { unfinished } = (await store.threads.get(ref)) ?? {}
  if (unfinished === undefined) return 0
  const ends = (await Promise.all(callers.map((caller) => caller.continue(unfinished)))).filter((end) => end)
  findings.check('one of two that continue a run does', ends.length === 1, ends)
  const [end] = ends
  const ended = end?.outcome === 'complete' || end?.outcome === 'interrupted'
  findings.check('a run that broke off goes on to its end', ended, end ?? later.at(-1))
  const thread = await store.threads.get(ref)
  findings.check('a run that has ended leaves no journal', thread?.unfinished === undefined, thread)
  return 1
}

type AnswerCounts = Pick<RecoveryCounts, 'resumed' | 'delivered' | 'brokenOff'>

async function answerWhatIsOpen(
  { events, findings, random, ref }: FaultedCase,
  caller: Caller,
  later: readonly CaseEvent[],
  store: Store,
): Promise<AnswerCounts> {
  const found = await store.threads.get(ref)
  const { checkpoint, openCalls = [] } = found ?? {}
  if (events.findLast(({ type }) => type === 'began' || type === 'asked')?.type === 'asked') {
    const answerable = checkpoint !== undefined && !checkpoint.resumedBy
    findings.check('a question that was shown can be answered', answerable, found)
  }
  const counts = { resumed: 0, delivered: 0, brokenOff: 0 }
  if (checkpoint && checkpoint.interrupts.length > 0) {
    const end = await caller.answer(checkpoint.interrupts)
    if (checkpoint.resumedBy === undefined) {
      findings.check('the answer is accepted', end?.outcome === 'complete', end ?? later.at(-1))
      return { ...counts, resumed: 1 }
    }
    const last = later.at(-1)
    const refused = last?.type === 'refused' && last.code === 'INTERRUPT_UNKNOWN'
    findings.check('an answer that was accepted is not accepted again', refused, last)
    return { ...counts, brokenOff: 1 }
  }
  if (openCalls.length > 0 && random.chance(0.5)) {
    const end = await caller.deliver(openCalls.map(({ callId }) => callId))
    findings.check('the delivery is accepted', end?.outcome === 'complete', end ?? later.at(-1))
    return { ...counts, delivered: 1 }
  }
  return counts
}

/** Reconciles in two processes at once, then once more. Contract: the last time there is nothing to do. */
async function cleanUp(findings: Findings, store: Store, other: Store, ref: ThreadRef): Promise<number> {
  const options = { before: Number.MAX_SAFE_INTEGER, threads: [ref] }
  const both = await Promise.all([store, other].map((each) => reconcile({ store: each, ...options })))
  const again = await reconcile({ store, ...options })
  findings.check('reconcile leaves nothing to do', again.runs + again.calls + again.alive === 0, again)
  return both.reduce((sum, { runs, calls }) => sum + runs + calls, 0)
}

function inspect({ findings, effects }: FaultedCase, shot: Snapshot, events: readonly CaseEvent[]): void {
  checkAcknowledged(findings, shot, events)
  checkCalls(findings, shot)
  checkRecords(findings, shot)
  checkEffects(findings, shot, effects.all())
  checkLogs(findings, shot, events)
}

/** Waits until the lease of a dead or stopped process has expired. */
export async function waitUntilFree({ threads }: Store, ref: ThreadRef): Promise<void> {
  for (let waited = 0; (await threads.get(ref))?.runId !== undefined; waited += 20) {
    if (waited > 50 * LEASE_MS) throw new KernelError('TIMEOUT', `faults: thread ${ref.threadId} is never free`)
    await new Promise<void>((resolve) => void setTimeout(resolve, 20))
  }
}
