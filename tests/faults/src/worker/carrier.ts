/** A process that carries a conversation on until nothing is left to do: `node carrier.ts <task as JSON>`. It prints its events on stdout. */
import { writeSync } from 'node:fs'
import { join } from 'node:path'
import { runner } from '@troupe/flow'
import { type AgentEvent, KernelError, type Run, type Store } from '@troupe/kernel'
import type { JournalEntry } from '@troupe/kernel/journal'
import { LEASE_MS } from '../conversation/caller.ts'
import type { CaseEvent } from '../conversation/case-event.ts'
import { CaseSpans } from '../conversation/case-spans.ts'
import { EventFile } from '../conversation/event-file.ts'
import { LineFile, type StepLine } from '../conversation/line-file.ts'
import { SHAPES } from '../conversation/shapes.ts'
import { openStore } from '../store/open-store.ts'
import { watchedStore } from '../store/watched-store.ts'
import type { CarrierMoment, CarrierTask } from './carrier-task.ts'
import { REF } from './worker-task.ts'

class Carrier {
  readonly #task: CarrierTask
  readonly #steps: LineFile<StepLine>
  readonly #events: EventFile
  readonly #spans: CaseSpans
  readonly #began = performance.now()
  readonly #moments = { works: 0, shows: 0 }

  constructor(task: CarrierTask) {
    this.#task = task
    this.#steps = new LineFile(join(task.folder, 'steps'))
    this.#events = new EventFile(task.folder, task.name)
    this.#spans = new CaseSpans(join(task.folder, 'effects'))
  }

  async work(): Promise<void> {
    const bare = await openStore(this.#task.address)
    const store = watchedStore(bare, (name, perform, args) => this.#call(name, perform, args))
    const make = SHAPES[this.#task.shape]
    if (!make) throw new Error(`carrier: no shape ${this.#task.shape}`)
    const { pid } = process
    const { tracing } = this.#spans
    const agent = make({
      pid,
      begin: (step, once) => this.#steps.add({ what: 'began', step, pid, ...(once && { once }) }),
      pause: (at) => this.#pause(at),
      handlers: [tracing.handler],
    })
    const limits = { queueMs: 20_000, leaseMs: LEASE_MS, pollMs: 50 }
    const talk = runner({ agent, store, callbacks: [tracing], busy: 'queue', limits, report })
    for (let next = await this.#next(store, talk); next; next = await this.#next(store, talk))
      await this.#show(next.run)
    this.#spans.close()
    await bare[Symbol.asyncDispose]()
    const { works, shows } = this.#moments
    print({ type: 'carried-on', works, shows, ms: performance.now() - this.#began })
  }

  /** The next thing to do in the thread, if there is one; a promise of a run itself would wait for its end. */
  async #next(store: Store, talk: ReturnType<typeof runner>): Promise<{ readonly run: Run } | undefined> {
    const isOpen = (await store.threads.get(REF)) !== undefined
    // Before the thread: a run that begins in between must be seen as unfinished.
    const stored = isOpen ? await store.threads.messages(REF, { limit: 1_000 }) : []
    const { unfinished, checkpoint, openCalls = [] } = (await store.threads.get(REF)) ?? {}
    if (unfinished !== undefined) {
      const shown = this.#shownOf(unfinished)
      return { run: talk.continue(REF, { runId: unfinished, shown, busy: 'queue' }) }
    }
    const runId = `R${new Set(stored.map((message) => message.runId)).size + 1}`
    if (stored.length === 0) return { run: talk.query('Go', { session: REF, runId }) }
    const asked = checkpoint?.interrupts ?? []
    if (asked.length > 0) {
      const answers = Object.fromEntries(asked.map(({ id }) => [id, { approved: true }]))
      return { run: talk.resume(answers, { session: REF, runId }) }
    }
    if (openCalls.length === 0) return undefined
    const messages = openCalls.map(({ callId, name }) => {
      return { id: `${callId}/result`, role: 'tool', callId, name, content: 'delivered' } as const
    })
    return { run: talk.run({ messages }, { session: REF, runId }) }
  }

  /** What readers have seen of a run. Contract: read when the run has its thread. */
  #shownOf(runId: string): Iterable<AgentEvent> {
    const events = this.#events
    return {
      *[Symbol.iterator]() {
        yield* events.of(runId)
      },
    }
  }

  async #show(run: Run): Promise<void> {
    print({ type: 'began', runId: run.runId, what: 'a run' })
    try {
      for await (const event of run.eventsWithoutThrowing()) {
        await this.#moment('shows', `before ${event.type}`)
        this.#events.add(event)
        await this.#moment('shows', `after ${event.type}`)
      }
      await run
    } catch (error) {
      print({ type: 'refused', runId: run.runId, code: KernelError.from(error, 'UNCODED').code })
    }
  }

  async #call(name: string, perform: () => Promise<unknown>, args: readonly unknown[]): Promise<unknown> {
    await this.#moment('works', `before ${name}`)
    const result = await perform()
    // From now on, readers follow this process.
    if (name === 'leases.acquire') this.#events.take((result as { readonly token: number }).token)
    if (name === 'journal.append') this.#noteStored(args[1] as string, args[2] as readonly JournalEntry[])
    await this.#moment('works', `after ${name}`)
    return result
  }

  #noteStored(runId: string, entries: readonly JournalEntry[]): void {
    for (const { step } of entries) this.#steps.add({ what: 'stored', step: `${runId}/${step}`, pid: process.pid })
  }

  async #pause(at: string): Promise<void> {
    await new Promise<void>((resolve) => void setTimeout(resolve, 1))
    await this.#moment('works', at)
  }

  async #moment(when: CarrierMoment['when'], at: string): Promise<void> {
    const { signalAt } = this.#task
    if (++this.#moments[when] !== signalAt?.number || signalAt.when !== when) return
    print({ type: 'hit', at: `${when} ${at}` })
    process.kill(process.pid, signalAt.signal)
    // A signal may arrive a little later.
    await new Promise<void>((resolve) => void setTimeout(resolve, signalAt.signal === 'SIGKILL' ? 60_000 : 5))
  }
}

function report(error: KernelError): void {
  process.stderr.write(`${error.code} ${error.message}\n`)
}

/** Contract: the line is written when this returns, whatever happens to the process next. */
function print(event: CaseEvent): void {
  writeSync(1, `${JSON.stringify(event)}\n`)
}

const [, , task = ''] = process.argv
await new Carrier(JSON.parse(task) as CarrierTask).work()
