import type { AgentEvent, Json, JsonObject, Message, ModelPart, Run, Thread } from '@troupe/kernel'
import type { JournalEntry } from '@troupe/kernel/journal'
import { type Composition, compose } from './composition.fixture.ts'
import { ANN, type KillAt, type Process, read, type World, world } from './killable.fixture.ts'

/** What processes that were killed have left unknown: the run left alone gets the same. */
export interface Gaps {
  /** The calls with an unknown outcome. */
  readonly lost: ReadonlySet<string>
  /** What model calls have said before they broke off. */
  readonly brokenOff: ReadonlyMap<string, readonly ModelPart[]>
}

export const NO_GAPS: Gaps = { lost: new Set(), brokenOff: new Map() }

/** A step that began in a process, after so many writes. */
export interface BegunStep {
  readonly step: string
  readonly once: boolean
  readonly writes: number
  readonly process: number
}

/** One request and what its readers have seen. */
export interface Request {
  readonly runId: string
  /** The state before it. */
  readonly state: JsonObject
  readonly events: AgentEvent[]
}

/** How the readers of a conversation follow it. */
export interface Reading {
  /** Whether whoever continues a run knows what they have seen. @default true */
  readonly known?: boolean
  /** How many ticks an event needs to reach them. @default 0 */
  readonly lag?: number
  /** Whether nobody continues a run that is killed: the conversation ends there. @default false */
  readonly abandoned?: boolean
}

/** A conversation with a composition, in processes that are killed and followed by others. */
export class KilledConversation {
  readonly world: World = world()
  readonly begun: BegunStep[] = []
  readonly requests: Request[] = []
  readonly #composition: Composition
  readonly #gaps: Gaps
  readonly #kills: KillAt[]
  readonly #reading: Reading
  #process: Process

  constructor(composition: Composition, kills: readonly KillAt[] = [], gaps: Gaps = NO_GAPS, reading: Reading = {}) {
    this.#composition = composition
    this.#gaps = gaps
    this.#kills = [...kills]
    this.#reading = reading
    this.#process = this.#start()
  }

  /** Says something, then answers what is asked and awaited, twice at most. */
  async hold(): Promise<this> {
    await this.#request((runId) => this.#process.runner.query('Begin.', { session: ANN, runId }))
    for (let i = 0; i < 2 && this.#process.alive; i++) {
      const { checkpoint, openCalls = [] } = (await this.thread()) ?? {}
      const asked = checkpoint?.interrupts ?? []
      if (asked.length > 0) {
        const answers = Object.fromEntries(asked.map(({ id, reason }) => [id, answerTo(reason, id)]))
        await this.#request((runId) => this.#process.runner.resume(answers, { session: ANN, runId }))
      } else if (openCalls.length > 0) {
        const messages = openCalls.map(({ callId, name }): Message => {
          return { id: `${callId}/result`, role: 'tool', callId, name, content: `result of ${name}` }
        })
        await this.#request((runId) => this.#process.runner.run({ messages }, { session: ANN, runId }))
      }
    }
    return this
  }

  thread(): Promise<Thread | undefined> {
    return this.world.store.threads.get(ANN)
  }

  /** Starts a process that nobody kills. */
  startLast(): Process {
    this.world.expire()
    this.#kills.length = 0
    this.#process = this.#start()
    return this.#process
  }

  /** The finished steps of all journals, with the number of writes after which each was stored. */
  recorded(): readonly (JournalEntry & { readonly name: string; readonly writes: number; readonly process: number })[] {
    return this.world.journal.flatMap(({ by, runId, entries, writes }) =>
      (entries as readonly JournalEntry[])
        .filter(({ step }) => step !== undefined)
        .map((entry) => ({ ...entry, name: `${runId}/${entry.step}`, writes, process: by.number })),
    )
  }

  #start(): Process {
    return this.world.start(
      (process) =>
        compose(this.#composition, {
          pause: (ticks) => process.pause(ticks),
          begin: (step, once = false) =>
            void this.begun.push({ step, once, writes: this.world.writes.length, process: process.number }),
          isLost: (step) => this.#gaps.lost.has(step),
          brokenOff: (step) => this.#gaps.brokenOff.get(step) ?? [],
        }),
      {},
      this.#kills.shift(),
    )
  }

  async #request(start: (runId: string) => Run): Promise<void> {
    const runId = `R${this.requests.length + 1}`
    const events: AgentEvent[] = []
    this.requests.push({ runId, state: (await this.thread())?.state ?? {}, events })
    const before = this.world.writes.length
    const isStored = () => this.world.writes.length > before
    await this.#read(start(runId), events)
    while (!this.#process.alive && !this.#reading.abandoned) {
      if (!isStored() && events.length > 0) throw new Error(`${runId} has shown events before it was stored`)
      this.world.expire()
      this.#process = this.#start()
      if (!isStored()) await this.#read(start(runId), events)
      else if ((await this.thread())?.unfinished === runId) {
        const { known = true } = this.#reading
        await this.#read(this.#process.runner.continue(ANN, known ? { shown: events.slice() } : {}), events)
      }
    }
  }

  #read(run: Run, events: AgentEvent[]): Promise<unknown> {
    return read(run.eventsWithoutThrowing(), this.#process, events, this.#reading.lag)
  }
}

function answerTo(reason: string, id: string): Json {
  return reason === 'approval' ? { approved: id.length % 3 !== 2 } : `answer to ${id}`
}
