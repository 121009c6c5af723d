/** A process that talks to an agent until its task sends it a signal: `node worker.ts <task as JSON>`. It prints its events on stdout. */
import { writeSync } from 'node:fs'
import { KernelError, type RecordCommand, type RecordStore, type ThreadCommit } from '@troupe/kernel'
import { messageLifecycle, toolLifecycle } from '@troupe/persistence'
import { scriptsFor } from '../conversation/bookkeeper.ts'
import { Caller } from '../conversation/caller.ts'
import type { CaseEvent } from '../conversation/case-event.ts'
import { CaseSpans } from '../conversation/case-spans.ts'
import { Effects } from '../conversation/effects.ts'
import { type OnMoment, openStore, type StatementMoment } from '../store/open-store.ts'
import { watchedStore } from '../store/watched-store.ts'
import type { SignalPoint, WorkerTask } from './worker-task.ts'

class Worker {
  readonly #task: WorkerTask
  readonly #began = performance.now()
  #calls = 0
  #statements = 0
  #matches = 0
  #stopped = false
  #holding = false

  constructor(task: WorkerTask) {
    this.#task = task
  }

  async work(): Promise<void> {
    const { address, ref, effects, name, seed } = this.#task
    const bare = await openStore(address, { onStatement: (sql) => this.#statement(sql) })
    const store = watchedStore(bare, (call, perform, args) => this.#call(call, perform, args))
    const report = (error: KernelError) => void process.stderr.write(`${error.code} ${error.message}\n`)
    const messages = messageLifecycle({ store, report, write: { delayMs: 10 } })
    const callbacks = [messages, toolLifecycle({ messages })]
    const spans = new CaseSpans(effects)
    const parts = { store, ref, effects: new Effects(effects), callbacks, spans }
    const caller = new Caller({ ...parts, name, record: print, report })
    for (const script of scriptsFor(seed)) {
      const end = await caller.converse(script)
      // A caller that was stopped and has lost the thread says nothing more.
      if (this.#stopped && end?.outcome !== 'complete') break
    }
    await messages[Symbol.asyncDispose]()
    spans.close()
    await bare[Symbol.asyncDispose]()
    print({ type: 'done', calls: this.#calls, statements: this.#statements, ms: performance.now() - this.#began })
  }

  async #call(name: string, perform: () => Promise<unknown>, args: readonly unknown[]): Promise<unknown> {
    this.#calls++
    const here = this.#momentAt('call', name)
    if (here === 'before') this.#signal(name)
    const result = perform()
    if (this.#stopped) printResult(name, result, args)
    await result.catch(() => undefined)
    if (name === 'leases.acquire') this.#holding = true
    // The commit that removes the journal is the end of a run.
    const ends = name === 'threads.commit' && (args[1] as ThreadCommit).journal === null
    if (ends || name === 'leases.release') this.#holding = false
    if (here === 'after') this.#signal(name)
    return result
  }

  #statement(sql: string): OnMoment | undefined {
    this.#statements++
    const here = this.#momentAt('statement', sql)
    if (!here) return undefined
    return (moment) => {
      if (moment !== here) return undefined
      // A statement that is sent leaves this process in the next round of its event loop.
      if (moment === 'sent') setImmediate(() => this.#signal(sql))
      else this.#signal(sql)
      return undefined
    }
  }

  /** The moment of this call or statement at which the signal is due, if it is the one of the task. */
  #momentAt(by: SignalPoint['by'], name: string): StatementMoment | undefined {
    const { signalAt } = this.#task
    if (signalAt?.by !== by || (signalAt.name !== undefined && signalAt.name !== name)) return undefined
    if (signalAt.holding && !this.#holding) return undefined
    return ++this.#matches === signalAt.number ? signalAt.moment : undefined
  }

  #signal(what: string): void {
    const { moment, signal } = this.#task.signalAt as SignalPoint
    print({ type: 'hit', at: `${moment} ${what.split(' ').slice(0, 3).join(' ')}` })
    this.#stopped = true
    process.kill(process.pid, signal)
  }
}

/** Contract: the line is written when this returns, whatever happens to the process next. */
function print(event: CaseEvent): void {
  writeSync(1, `${JSON.stringify(event)}\n`)
}

const WRITES: readonly string[] = ['threads.commit', 'records.apply', 'runLog.append', 'leases.renew']

type Applied = Awaited<ReturnType<RecordStore['apply']>>

function printResult(call: string, result: Promise<unknown>, args: readonly unknown[]): void {
  if (!WRITES.includes(call)) return
  const commands = call === 'records.apply' ? (args[1] as readonly RecordCommand[]) : [undefined]
  const printAll = (how: (i: number) => string) =>
    commands.forEach((command, i) => {
      print({ type: 'wrote', call, how: how(i), ...(command && { command }) })
    })
  result.then(
    (value) => printAll((i) => (commands[i] && (value as Applied)[i]?.refused ? 'refused' : 'accepted')),
    (error: unknown) => printAll(() => KernelError.from(error).code),
  )
}

const [, , task = ''] = process.argv
await new Worker(JSON.parse(task) as WorkerTask).work()
