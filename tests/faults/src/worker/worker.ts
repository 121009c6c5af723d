/** A process that talks to an agent until it is hit: `node worker.ts <order as JSON>`; tells its lines on stdout. */
import { writeSync } from 'node:fs'
import { KernelError, type RecordCommand, type RecordStore } from '@troupe/kernel'
import { messageLifecycle, toolLifecycle } from '@troupe/persistence'
import { scriptsFor } from '../conversation/bookkeeper.ts'
import { Caller } from '../conversation/caller.ts'
import type { Line } from '../conversation/case-event.ts'
import { Effects } from '../conversation/effects.ts'
import { type OnMoment, openStore, type StatementMoment } from '../store/open-store.ts'
import { watchedStore } from '../store/watched-store.ts'
import type { Hit, Order } from './worker-task.ts'

class Worker {
  readonly #order: Order
  readonly #began = performance.now()
  #calls = 0
  #statements = 0
  #matches = 0
  #stopped = false
  #holding = false

  constructor(order: Order) {
    this.#order = order
  }

  async work(): Promise<void> {
    const { place, ref, effects, name, seed } = this.#order
    const bare = await openStore(place, { onStatement: (sql) => this.#statement(sql) })
    const store = watchedStore(bare, (call, perform, args) => this.#call(call, perform, args))
    const report = (error: KernelError) => void process.stderr.write(`${error.code} ${error.message}\n`)
    const messages = messageLifecycle({ store, report, write: { delayMs: 10 } })
    const callbacks = [messages, toolLifecycle({ messages })]
    const caller = new Caller({ store, ref, effects: new Effects(effects), callbacks, name, tell, report })
    for (const script of scriptsFor(seed)) {
      const end = await caller.play(script)
      // Whoever was stopped and has lost the thread says no more.
      if (this.#stopped && end?.outcome !== 'complete') break
    }
    await messages[Symbol.asyncDispose]()
    await bare[Symbol.asyncDispose]()
    tell({ type: 'done', calls: this.#calls, statements: this.#statements, ms: performance.now() - this.#began })
  }

  async #call(name: string, perform: () => Promise<unknown>, args: readonly unknown[]): Promise<unknown> {
    this.#calls++
    const here = this.#counts('call', name)
    if (here === 'before') this.#hit(name)
    const result = perform()
    if (this.#stopped) tellHow(name, result, args)
    await result.catch(() => undefined)
    if (name === 'leases.acquire') this.#holding = true
    if (name === 'threads.commit' || name === 'leases.release') this.#holding = false
    if (here === 'after') this.#hit(name)
    return result
  }

  #statement(sql: string): OnMoment | undefined {
    this.#statements++
    const here = this.#counts('statement', sql)
    if (!here) return undefined
    return (moment) => {
      if (moment !== here) return undefined
      // What is sent has left this process in the next round of its loop.
      if (moment === 'sent') setImmediate(() => this.#hit(sql))
      else this.#hit(sql)
      return undefined
    }
  }

  /** When to hit at this one, if at all. */
  #counts(by: Hit['by'], name: string): StatementMoment | undefined {
    const { hit } = this.#order
    if (hit?.by !== by || (hit.name !== undefined && hit.name !== name)) return undefined
    if (hit.holding && !this.#holding) return undefined
    return ++this.#matches === hit.number ? hit.moment : undefined
  }

  #hit(what: string): void {
    const { moment, signal } = this.#order.hit as Hit
    tell({ type: 'hit', at: `${moment} ${what.split(' ').slice(0, 3).join(' ')}` })
    this.#stopped = true
    process.kill(process.pid, signal)
  }
}

/** Contract: written when it returns, whatever happens to the process next. */
function tell(line: Line): void {
  writeSync(1, `${JSON.stringify(line)}\n`)
}

const WRITES: readonly string[] = ['threads.commit', 'records.apply', 'runLog.append', 'leases.renew']

type Applied = Awaited<ReturnType<RecordStore['apply']>>

function tellHow(call: string, result: Promise<unknown>, args: readonly unknown[]): void {
  if (!WRITES.includes(call)) return
  const commands = call === 'records.apply' ? (args[1] as readonly RecordCommand[]) : [undefined]
  const told = (how: (i: number) => string) =>
    commands.forEach((command, i) => {
      tell({ type: 'wrote', call, how: how(i), ...(command && { command }) })
    })
  result.then(
    (value) => told((i) => (commands[i] && (value as Applied)[i]?.refused ? 'refused' : 'accepted')),
    (error: unknown) => told(() => KernelError.from(error).code),
  )
}

const [, , order = ''] = process.argv
await new Worker(JSON.parse(order) as Order).work()
