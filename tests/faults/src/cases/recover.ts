import { KernelError, type Store, type ThreadRef } from '@troupe/kernel'
import { loadHistory, messageLifecycle, reconcile, toolLifecycle } from '@troupe/persistence'
import type { Findings } from '../checks/findings.ts'
import {
  checkCalls,
  checkEffects,
  checkEndings,
  checkLogs,
  checkPromises,
  checkRecords,
  unknownIn,
} from '../checks/invariants.ts'
import { awaitedIn, type Snapshot, snapshot } from '../checks/snapshot.ts'
import { heardIn } from '../conversation/bookkeeper.ts'
import { Caller, LEASE_MS, UNHURRIED } from '../conversation/caller.ts'
import type { Line } from '../conversation/case-event.ts'
import type { Effects } from '../conversation/effects.ts'
import type { Random } from '../random.ts'
import { openStore, type Place } from '../store/open-store.ts'

/** What a fault has left behind. */
export interface Scene {
  readonly place: Place
  readonly ref: ThreadRef
  readonly effects: Effects
  /** All that callers were told, of every process in order. */
  readonly lines: readonly Line[]
  readonly random: Random
  readonly findings: Findings
}

/** What the process that came after has done. */
export interface Aftermath {
  readonly resumed: number
  readonly delivered: number
  readonly brokenOff: number
  readonly unknown: number
  readonly reconciled: number
}

/** Goes on where a fault has hit, in this process: closes what is open, resumes what was asked, speaks to the thread, and looks at everything. */
export async function goOn(scene: Scene): Promise<Aftermath> {
  const { place, ref, effects, lines, random, findings } = scene
  await using store = await openStore(place)
  await using other = await openStore(place)
  let reconciled = 0
  // Either may come first: whoever cleans up, or whoever speaks next and takes the thread over.
  if (random.chance(0.5)) {
    await freed(store, ref)
    reconciled += await cleanUp(findings, store, other, ref)
    inspect(scene, await snapshot(store, ref, runsIn(lines)), lines)
  }
  const told: Line[] = []
  await using messages = messageLifecycle({ store, write: { delayMs: 10 } })
  const callbacks = [messages, toolLifecycle({ messages })]
  const tell = (line: Line) => void told.push(line)
  const caller = new Caller({ store, ref, effects, callbacks, name: 'after', tell, limits: UNHURRIED })
  const { resumed, delivered, brokenOff } = await answerWhatIsOpen(scene, caller, told, store)
  const heard = heardIn((await store.threads.messages(ref, { limit: 1_000 })).map(({ message }) => message)) + 1
  const end = await caller.say('last: look pay')
  findings.check('the next run works', end?.outcome === 'complete', end ?? told.at(-1))
  findings.check('it is shown the whole history', end?.text.endsWith(`; heard ${heard}`) === true, end?.text)
  await messages.flush()
  reconciled += await cleanUp(findings, store, other, ref)
  const all = [...lines, ...told]
  const shot = await snapshot(other, ref, runsIn(all))
  inspect(scene, shot, all)
  checkEndings(findings, shot, told)
  findings.check('nothing is open in the end', awaitedIn(shot).size === 0 && !shot.thread?.checkpoint, shot.thread)
  const history = await loadHistory(store, ref)
  findings.check('the history is whole', history.length === shot.messages.length, history.length)
  return { resumed, delivered, brokenOff, reconciled, unknown: unknownIn(shot) }
}

async function answerWhatIsOpen(
  { lines, findings, random, ref }: Scene,
  caller: Caller,
  told: readonly Line[],
  store: Store,
): Promise<Pick<Aftermath, 'resumed' | 'delivered' | 'brokenOff'>> {
  const found = await store.threads.get(ref)
  const { checkpoint, openCalls = [] } = found ?? {}
  if (lines.findLast(({ type }) => type === 'began' || type === 'asked')?.type === 'asked') {
    findings.check(
      'a question that was shown can be answered',
      checkpoint !== undefined && !checkpoint.resumedBy,
      found,
    )
  }
  const counts = { resumed: 0, delivered: 0, brokenOff: 0 }
  if (checkpoint && checkpoint.interrupts.length > 0) {
    const end = await caller.answer(checkpoint.interrupts)
    if (checkpoint.resumedBy === undefined) {
      findings.check('the answer is taken', end?.outcome === 'complete', end ?? told.at(-1))
      counts.resumed++
    } else {
      const last = told.at(-1)
      const refused = last?.type === 'refused' && last.code === 'INTERRUPT_UNKNOWN'
      findings.check('an answer that was taken is not taken again', refused, last)
      counts.brokenOff++
    }
  } else if (openCalls.length > 0 && random.chance(0.5)) {
    const end = await caller.deliver(openCalls.map(({ callId }) => callId))
    findings.check('the delivery is taken', end?.outcome === 'complete', end ?? told.at(-1))
    counts.delivered++
  }
  return counts
}

/** Contract: by two at once, and again; the second time there is nothing to do. */
async function cleanUp(findings: Findings, store: Store, other: Store, ref: ThreadRef): Promise<number> {
  const options = { before: Number.MAX_SAFE_INTEGER, threads: [ref] }
  const both = await Promise.all([store, other].map((each) => reconcile({ store: each, ...options })))
  const again = await reconcile({ store, ...options })
  findings.check('reconcile leaves nothing to do', again.runs + again.calls + again.alive === 0, again)
  return both.reduce((sum, { runs, calls }) => sum + runs + calls, 0)
}

function inspect({ findings, effects }: Scene, shot: Snapshot, lines: readonly Line[]): void {
  checkPromises(findings, shot, lines)
  checkCalls(findings, shot)
  checkRecords(findings, shot)
  checkEffects(findings, shot, effects.all())
  checkLogs(findings, shot, lines)
}

/** The runs that somebody asked for. */
export function runsIn(lines: readonly Line[]): ReadonlySet<string> {
  return new Set(lines.flatMap((line) => (line.type === 'began' ? [line.runId] : [])))
}

/** Waits until the lease of whoever is gone has expired. */
export async function freed({ threads }: Store, ref: ThreadRef): Promise<void> {
  for (let waited = 0; (await threads.get(ref))?.runId !== undefined; waited += 20) {
    if (waited > 50 * LEASE_MS) throw new KernelError('TIMEOUT', `faults: thread ${ref.threadId} is never free`)
    await new Promise<void>((resolve) => void setTimeout(resolve, 20))
  }
}
