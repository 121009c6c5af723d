import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import type { CaseEvent } from '../conversation/case-event.ts'
import type { CarrierTask } from './carrier-task.ts'
import type { WorkerTask } from './worker-task.ts'

/** The programs that a worker runs: one that talks to an agent, or one that carries a conversation on. */
const PROGRAMS = { talks: './worker.ts', carriesOn: './carrier.ts' } as const

/** A worker in its own process, which is killed on disposal, even if it is stopped. */
export class WorkerProcess implements AsyncDisposable {
  readonly #process: ChildProcess
  readonly #closed: Promise<unknown>
  readonly #listeners: Set<() => void> = new Set()
  readonly events: CaseEvent[] = []
  /** The beginning of a line whose end has not arrived. */
  #rest = ''
  #errors = ''

  /** Contract: `cache` is a folder for compiled code, so that only the first worker starts slowly. */
  constructor(task: WorkerTask | CarrierTask, cache: string) {
    const path = PROGRAMS['shape' in task ? 'carriesOn' : 'talks']
    const program = fileURLToPath(new URL(path, import.meta.url))
    this.#process = spawn(process.execPath, ['--no-warnings', program, JSON.stringify(task)], {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, NODE_OPTIONS: '', NODE_COMPILE_CACHE: cache },
    })
    this.#process.stdout?.setEncoding('utf8').on('data', (chunk: string) => {
      const lines = (this.#rest + chunk).split('\n')
      this.#rest = lines.pop() ?? ''
      for (const line of lines) this.events.push(JSON.parse(line))
      for (const listener of this.#listeners) listener()
    })
    this.#process.stderr?.on('data', (chunk) => {
      this.#errors += chunk
    })
    this.#closed = once(this.#process, 'close')
  }

  get pid(): number {
    return this.#process.pid ?? 0
  }

  get killed(): boolean {
    return this.#process.signalCode === 'SIGKILL'
  }

  signal(signal: 'SIGKILL' | 'SIGCONT'): void {
    this.#process.kill(signal)
  }

  /** Waits until its events meet a condition, or until it has ended. */
  async waitFor(condition: (events: readonly CaseEvent[]) => boolean): Promise<boolean> {
    let listener = () => {}
    const met = new Promise<void>((resolve) => {
      listener = () => {
        if (condition(this.events)) resolve()
      }
      this.#listeners.add(listener)
      listener()
    })
    await Promise.race([met, this.#closed])
    this.#listeners.delete(listener)
    return condition(this.events)
  }

  /** Contract: rejects if it neither finished nor was killed. */
  async waitForEnd(): Promise<readonly CaseEvent[]> {
    await this.#closed
    const last = this.events.at(-1)?.type
    if (!this.killed && last !== 'done' && last !== 'carried-on') {
      const events = JSON.stringify(this.events.slice(-4)).slice(0, 2000)
      throw new Error(`worker: ended with ${this.#process.exitCode} after ${events}, ${this.#errors.slice(-2000)}`)
    }
    return this.events
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#process.kill('SIGKILL')
    await this.#closed
  }
}
