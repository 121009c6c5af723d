import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import type { Line } from '../conversation/case-event.ts'
import type { Order } from './worker-task.ts'

const PROGRAM = fileURLToPath(new URL('./worker.ts', import.meta.url))

/** A worker in a process of its own; it does not outlive whoever looks after it, stopped or not. */
export class Child implements AsyncDisposable {
  readonly #process: ChildProcess
  readonly #closed: Promise<unknown>
  readonly #listeners: Set<() => void> = new Set()
  readonly lines: Line[] = []
  /** The beginning of a line that is not told yet. */
  #rest = ''
  #errors = ''

  /** Contract: `cache` is a folder for compiled code, so that only the first worker is slow to start. */
  constructor(order: Order, cache: string) {
    this.#process = spawn(process.execPath, ['--no-warnings', PROGRAM, JSON.stringify(order)], {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, NODE_OPTIONS: '', NODE_COMPILE_CACHE: cache },
    })
    this.#process.stdout?.setEncoding('utf8').on('data', (chunk: string) => {
      const whole = (this.#rest + chunk).split('\n')
      this.#rest = whole.pop() ?? ''
      for (const line of whole) this.lines.push(JSON.parse(line))
      for (const listener of this.#listeners) listener()
    })
    this.#process.stderr?.on('data', (chunk) => {
      this.#errors += chunk
    })
    this.#closed = once(this.#process, 'close')
  }

  get killed(): boolean {
    return this.#process.signalCode === 'SIGKILL'
  }

  signal(signal: 'SIGKILL' | 'SIGCONT'): void {
    this.#process.kill(signal)
  }

  /** Waits until it has told what is looked for, or has ended. */
  async told(is: (lines: readonly Line[]) => boolean): Promise<boolean> {
    let listener = () => {}
    const told = new Promise<void>((resolve) => {
      listener = () => {
        if (is(this.lines)) resolve()
      }
      this.#listeners.add(listener)
      listener()
    })
    await Promise.race([told, this.#closed])
    this.#listeners.delete(listener)
    return is(this.lines)
  }

  /** Contract: rejects if it neither came to its end nor was killed. */
  async ended(): Promise<readonly Line[]> {
    await this.#closed
    if (!this.killed && this.lines.at(-1)?.type !== 'done') {
      throw new Error(`worker: ended with ${this.#process.exitCode}, ${this.#errors.slice(-2000)}`)
    }
    return this.lines
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#process.kill('SIGKILL')
    await this.#closed
  }
}
