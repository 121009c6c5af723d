import { dirname, join } from 'node:path'
import { runner } from '@troupe/flow'
import type { AgentEvent, Store } from '@troupe/kernel'
import type { CaseResult } from '../campaign-result.ts'
import { checkSpans } from '../checks/check-spans.ts'
import { checkConversation, checkFree, type LeftBehind, unknownCalls } from '../checks/conversation-checks.ts'
import { Findings } from '../checks/findings.ts'
import type { CaseEvent } from '../conversation/case-event.ts'
import { EventFile } from '../conversation/event-file.ts'
import { LineFile, type StepLine } from '../conversation/line-file.ts'
import { SHAPES } from '../conversation/shapes.ts'
import { type Random, seeded } from '../random.ts'
import type { CaseStorage, Databases } from '../store/databases.ts'
import { openStore, type StoreKind } from '../store/open-store.ts'
import type { CarrierMoment, CarrierTask } from '../worker/carrier-task.ts'
import { WorkerProcess } from '../worker/worker-process.ts'
import { REF } from '../worker/worker-task.ts'
import { waitUntilFree } from './recover.ts'

/** Kills the processes of one conversation, up to three of them, and lets others carry it on to its end. */
export async function continueCase(databases: Databases, kind: StoreKind, seed: number): Promise<CaseResult> {
  const random = seeded(seed)
  const names = Object.keys(SHAPES)
  const shape = names[seed % names.length] as string
  const length = await lengthOf(databases, kind, shape)
  return databases.withStorage(kind, `continue-${seed}`, async (storage) => {
    const conversation = new LostProcesses(databases, storage, shape, length, random)
    for (let kills = 1 + random.below(3); kills > 0 && !conversation.done; kills--) await conversation.kill()
    if (!conversation.done) await conversation[random.pick(LAST)]()
    return conversation.check()
  })
}

/** The ways to carry a conversation on to its end: one process, two at once, or another one while one is stopped or goes on too. */
const LAST = ['carryOn', 'carryOnWithRival', 'carryOnWhileStopped', 'carryOnWhileItGoesOn'] as const

/** How long a conversation is that nobody disturbs, in moments at which it can be killed and in milliseconds. */
type Length = Extract<CaseEvent, { readonly type: 'carried-on' }>

const lengths = new Map<string, Promise<Length>>()

function lengthOf(databases: Databases, kind: StoreKind, shape: string): Promise<Length> {
  const key = `${kind} ${shape}`
  const known = lengths.get(key)
  if (known) return known
  const measured = databases.withStorage(kind, `length-${shape.replaceAll(' ', '-')}`, async ({ address, effects }) => {
    const folder = dirname(effects)
    await using worker = new WorkerProcess({ address, folder, name: 'alone', shape }, databases.cache)
    const last = (await worker.waitForEnd()).at(-1)
    if (last?.type !== 'carried-on') throw new Error(`faults: ${shape} did not come to its end`)
    return last
  })
  lengths.set(key, measured)
  return measured
}

/** One conversation whose processes are lost. */
class LostProcesses {
  readonly #databases: Databases
  readonly #storage: CaseStorage
  readonly #shape: string
  readonly #length: Length
  readonly #random: Random
  readonly #folder: string
  readonly #findings = new Findings()
  readonly #hits: string[] = []
  readonly #stopped = new Set<number>()
  readonly #counts = { continues: 0, stopped: 0, rivals: 0 }
  #started = 0
  /** Whether a process has carried the conversation on to its end. */
  done = false

  constructor(databases: Databases, storage: CaseStorage, shape: string, length: Length, random: Random) {
    this.#databases = databases
    this.#storage = storage
    this.#shape = shape
    this.#length = length
    this.#random = random
    this.#folder = dirname(storage.effects)
  }

  /** Kills a process: by itself at one of its moments, or from outside. */
  async kill(): Promise<void> {
    const outside = this.#random.chance(0.3)
    // Of a conversation that was carried on before, less is left.
    const at = this.#moment(1 / (this.#hits.length + 1))
    await using worker = this.#start(outside ? {} : { signalAt: { ...at, signal: 'SIGKILL' } })
    if (outside) {
      await worker.waitFor((events) => events.some(({ type }) => type === 'began'))
      await sleep(this.#random.below(this.#length.ms))
      worker.signal('SIGKILL')
    }
    this.#countKill(worker, await worker.waitForEnd())
  }

  async carryOn(): Promise<void> {
    await using worker = this.#start({})
    await worker.waitForEnd()
  }

  /** Lets two processes try at once; one of them may be killed. */
  async carryOnWithRival(): Promise<void> {
    await using one = this.#start({ signalAt: { ...this.#moment(2), signal: 'SIGKILL' } })
    await using two = this.#start({})
    const [events] = await Promise.all([one.waitForEnd(), two.waitForEnd()])
    this.#countKill(one, events)
    this.#counts.rivals++
  }

  /** Stops a process, lets another one take its run over to the end, and continues the first one. */
  async carryOnWhileStopped(): Promise<void> {
    await using store = await openStore(this.#storage.address)
    await using stopped = this.#start({ signalAt: { ...this.#moment(0.5), signal: 'SIGSTOP' } })
    if (!(await this.#stoppedPastLease(stopped, store))) return
    await this.carryOn()
    const before = await store.threads.messages(REF, { limit: 1_000 })
    stopped.signal('SIGCONT')
    await stopped.waitForEnd()
    const after = await store.threads.messages(REF, { limit: 1_000 })
    this.#findings.check('a stopped process adds nothing', after.length === before.length, after.slice(before.length))
  }

  /** Stops a process, and continues it just as another one takes its run over. */
  async carryOnWhileItGoesOn(): Promise<void> {
    await using store = await openStore(this.#storage.address)
    await using stopped = this.#start({ signalAt: { ...this.#moment(0.5), signal: 'SIGSTOP' } })
    if (!(await this.#stoppedPastLease(stopped, store))) return
    await using other = this.#start({})
    await other.waitFor((events) => events.some(({ type }) => type === 'began'))
    await sleep(this.#random.below(20))
    stopped.signal('SIGCONT')
    await Promise.all([stopped.waitForEnd(), other.waitForEnd()])
  }

  async #stoppedPastLease(stopped: WorkerProcess, store: Store): Promise<boolean> {
    if (!(await stopped.waitFor((events) => events.some(({ type }) => type === 'hit')))) return false
    this.#stopped.add(stopped.pid)
    await waitUntilFree(store, REF)
    this.#counts.stopped++
    return true
  }

  /** Checks a conversation that has come to its end. */
  async check(): Promise<CaseResult> {
    const events = new EventFile(this.#folder, '').all()
    const steps = new LineFile<StepLine>(join(this.#folder, 'steps')).all()
    await using store = await openStore(this.#storage.address)
    // A process that came too late and was killed may hold the thread for a while.
    await waitUntilFree(store, REF)
    const left = await checkFree(this.#findings, store, { events, steps, stopped: this.#stopped })
    const reader = checkConversation(this.#findings, left)
    const linked = checkSpans(this.#findings, this.#storage.effects)
    await this.#sayMore(store)
    return {
      findings: this.#findings,
      hits: this.#hits,
      counts: {
        ...this.#counts,
        linked,
        unseenEnds:
          new Set(left.messages.map(({ runId }) => runId)).size - reader.runs.filter((id) => reader.sawEnd(id)).length,
        takenBack: events.filter(isTakenBack).length,
        repeated: repeatedIn(left),
        unknown: unknownCalls(left),
      },
    }
  }

  async #sayMore(store: Awaited<ReturnType<typeof openStore>>): Promise<void> {
    const notes = { pid: process.pid, begin: () => undefined, pause: async () => undefined }
    const agent = SHAPES[this.#shape]?.(notes)
    if (!agent) return
    const before = (await store.threads.messages(REF, { limit: 1_000 })).length
    const { outcome } = await runner({ agent, store }).query('And now?', { session: REF, pending: 'drop' })
    const after = await store.threads.messages(REF, { limit: 1_000 })
    this.#findings.check('the next message works', outcome === 'complete' || outcome === 'interrupted', outcome)
    this.#findings.check(
      'the next message follows the others',
      after[before]?.message.content === 'And now?',
      after[before],
    )
  }

  /** A moment of a process in the first part of the conversation. */
  #moment(part: number): CarrierMoment {
    const when = this.#random.chance(0.7) ? 'works' : 'shows'
    return { when, number: 1 + this.#random.below(this.#length[when] * part) }
  }

  #start(more: Pick<CarrierTask, 'signalAt'>): WorkerProcess {
    const { address } = this.#storage
    const name = `p${++this.#started}`
    return new WorkerProcess(
      { address, folder: this.#folder, name, shape: this.#shape, ...more },
      this.#databases.cache,
    )
  }

  #countKill({ killed }: WorkerProcess, events: readonly CaseEvent[]): void {
    this.done = !killed
    if (!killed) return
    const hit = events.findLast((event) => event.type === 'hit')
    this.#hits.push(hit ? placeOf(hit.at) : 'from outside')
    this.#counts.continues++
  }
}

/** The kind of moment at which a process was killed. */
function placeOf(hit: string): string {
  const [when, ...at] = hit.split(' ')
  if (when === 'shows') return 'as an event is shown'
  const [call] = at.join(' ').split('.')
  if (hit.includes('.')) return `${at[0]} a call: ${call?.split(' ')[1]}`
  return ['word', 'finish'].includes(at[0] ?? '') ? 'in a model call' : 'in a tool'
}

function isTakenBack(event: AgentEvent): boolean {
  return event.type === 'message-end' && event.dropped === true
}

/** Counts the steps that were done more than once. */
function repeatedIn({ steps }: LeftBehind): number {
  const began = steps.filter(({ what }) => what === 'began').map(({ step }) => step)
  return began.length - new Set(began).size
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => void setTimeout(resolve, ms))
}
