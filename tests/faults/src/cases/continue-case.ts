import { dirname, join } from 'node:path'
import { runner } from '@troupe/flow'
import type { AgentEvent } from '@troupe/kernel'
import type { CaseResult } from '../campaign-result.ts'
import { checkConversation, checkFree, type LeftBehind, unknownCalls } from '../checks/conversation-checks.ts'
import { Findings } from '../checks/findings.ts'
import { EventFile } from '../conversation/event-file.ts'
import { LineFile, type StepLine } from '../conversation/line-file.ts'
import { SHAPES } from '../conversation/shapes.ts'
import { type Random, seeded } from '../random.ts'
import type { CaseStorage, Databases } from '../store/databases.ts'
import { openStore, type StoreKind } from '../store/open-store.ts'
import type { CarrierTask } from '../worker/carrier-task.ts'
import { WorkerProcess } from '../worker/worker-process.ts'
import { REF } from '../worker/worker-task.ts'
import { waitUntilFree } from './recover.ts'

/** How a process is lost: killed by itself, killed from outside, killed while another one waits, or stopped for longer than its lease. */
const WAYS = ['itself', 'outside', 'itself', 'rival', 'stop'] as const

/** Loses the processes of one conversation, up to three of them, and lets another one carry it on. */
export async function continueCase(databases: Databases, kind: StoreKind, seed: number): Promise<CaseResult> {
  const random = seeded(seed)
  const names = Object.keys(SHAPES)
  const shape = names[seed % names.length] as string
  const length = await lengthOf(databases, kind, shape)
  return databases.withStorage(kind, `continue-${seed}`, async (storage) => {
    const conversation = new LostProcesses(databases, storage, shape, length, random)
    const losses = 1 + random.below(3)
    for (let i = 0; i < losses; i++) await conversation.lose(random.pick(WAYS))
    return conversation.finish()
  })
}

/** How long a conversation is that nobody disturbs, in moments at which it can be killed and in milliseconds. */
interface Length {
  readonly moments: number
  readonly ms: number
}

const lengths = new Map<string, Promise<Length>>()

function lengthOf(databases: Databases, kind: StoreKind, shape: string): Promise<Length> {
  const key = `${kind} ${shape}`
  const known = lengths.get(key)
  if (known) return known
  const measured = databases.withStorage(kind, `length-${shape.replaceAll(' ', '-')}`, async ({ address, effects }) => {
    const folder = dirname(effects)
    await using worker = new WorkerProcess({ address, folder, name: 'alone', shape }, databases.cache)
    const last = (await worker.waitForEnd()).at(-1)
    if (last?.type !== 'done') throw new Error(`faults: ${shape} did not come to its end`)
    return { moments: last.calls, ms: last.ms }
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
  readonly #counts = { continues: 0, stopped: 0, rivals: 0 }
  #started = 0

  constructor(databases: Databases, storage: CaseStorage, shape: string, length: Length, random: Random) {
    this.#databases = databases
    this.#storage = storage
    this.#shape = shape
    this.#length = length
    this.#random = random
    this.#folder = dirname(storage.effects)
  }

  async lose(way: (typeof WAYS)[number]): Promise<void> {
    const moment = 1 + this.#random.below(this.#length.moments)
    if (way === 'stop') return this.#stop(moment)
    if (way === 'outside') return this.#killFromOutside()
    await using worker = this.#start({ signalAt: { moment, signal: 'SIGKILL' } })
    if (way === 'rival') {
      await using rival = this.#start({})
      await Promise.all([worker.waitForEnd(), rival.waitForEnd()])
      this.#counts.rivals++
    } else await worker.waitForEnd()
    this.#countKill(worker)
  }

  async #killFromOutside(): Promise<void> {
    await using worker = this.#start({})
    await worker.waitFor((events) => events.some(({ type }) => type === 'began'))
    await sleep(this.#random.below(this.#length.ms))
    worker.signal('SIGKILL')
    await worker.waitForEnd()
    if (worker.killed) this.#hit('from outside')
  }

  /** Stops a process, lets another one take its run over to the end, and continues the first one. */
  async #stop(moment: number): Promise<void> {
    await using stopped = this.#start({ signalAt: { moment, signal: 'SIGSTOP' } })
    if (!(await stopped.waitFor((events) => events.some(({ type }) => type === 'hit')))) return
    await using store = await openStore(this.#storage.address)
    await waitUntilFree(store, REF)
    await using other = this.#start({})
    await other.waitForEnd()
    const before = await store.threads.messages(REF, { limit: 1_000 })
    stopped.signal('SIGCONT')
    await stopped.waitForEnd()
    const after = await store.threads.messages(REF, { limit: 1_000 })
    this.#findings.check('a stopped process adds nothing', after.length === before.length, after.slice(before.length))
    this.#counts.stopped++
    this.#hits.push('stopped')
  }

  /** Carries the conversation on to its end, and checks it. */
  async finish(): Promise<CaseResult> {
    const last = this.#start({})
    try {
      await last.waitForEnd()
    } finally {
      await last[Symbol.asyncDispose]()
    }
    const events = new EventFile(this.#folder, '').all()
    const steps = new LineFile<StepLine>(join(this.#folder, 'steps')).all()
    await using store = await openStore(this.#storage.address)
    const left = await checkFree(this.#findings, store, { events, steps })
    const reader = checkConversation(this.#findings, left)
    await this.#sayMore(store)
    return {
      findings: this.#findings,
      hits: this.#hits,
      counts: {
        ...this.#counts,
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

  #start(more: Pick<CarrierTask, 'signalAt'>): WorkerProcess {
    const { address } = this.#storage
    const name = `p${++this.#started}`
    return new WorkerProcess(
      { address, folder: this.#folder, name, shape: this.#shape, ...more },
      this.#databases.cache,
    )
  }

  #countKill(worker: WorkerProcess): void {
    const hit = worker.events.findLast((event) => event.type === 'hit')
    if (worker.killed && hit) this.#hit(hit.at)
  }

  #hit(at: string): void {
    this.#hits.push(at)
    this.#counts.continues++
  }
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
