import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import type { ClockMessage, ReplicaMessage, ReplicaTask } from './replica-task.ts'

/** A server process, which is killed on disposal, even if it is stopped. */
export class ReplicaProcess implements AsyncDisposable {
  readonly #process: ChildProcess
  readonly #closed: Promise<unknown>
  readonly #listeners: Set<(message: ReplicaMessage) => void> = new Set()
  readonly reports: string[] = []
  url = ''
  /** Where it stopped itself. */
  frozenAt: string | undefined
  /** Whether somebody waits for it to stop itself, and lets it continue. */
  #expected = true
  #rest = ''
  #errors = ''

  private constructor(task: ReplicaTask, cache: string) {
    const program = fileURLToPath(new URL('./replica.ts', import.meta.url))
    this.#process = fork(program, [JSON.stringify(task)], {
      execArgv: ['--no-warnings'],
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
      env: { ...process.env, NODE_OPTIONS: '', NODE_COMPILE_CACHE: cache },
    })
    this.#process.on('message', (message) => this.#hear(message as ReplicaMessage))
    // A process that stops itself says so on its output, which does not wait for its event loop.
    this.#process.stdout?.setEncoding('utf8').on('data', (chunk: string) => {
      const lines = (this.#rest + chunk).split('\n')
      this.#rest = lines.pop() ?? ''
      for (const line of lines) this.#hear(JSON.parse(line))
    })
    this.#process.stderr?.on('data', (chunk) => {
      this.#errors += chunk
    })
    this.#closed = once(this.#process, 'close')
  }

  /** Starts a server. Contract: resolves when it listens. */
  static async start(task: ReplicaTask, cache: string): Promise<ReplicaProcess> {
    const replica = new ReplicaProcess(task, cache)
    await replica.#heard('ready')
    return replica
  }

  get pid(): number {
    return this.#process.pid ?? 0
  }

  /** Waits until it stops itself. Contract: false if it has not done so in this time. */
  async freezes(withinMs: number): Promise<boolean> {
    const late = new Promise<void>((resolve) => void setTimeout(resolve, withinMs))
    await Promise.race([this.#heard('freezes'), late])
    this.#expected = false
    return this.frozenAt !== undefined
  }

  signal(signal: 'SIGSTOP' | 'SIGCONT' | 'SIGKILL'): void {
    this.#process.kill(signal)
  }

  setClock(clockOffsetMs: number): void {
    this.#process.send({ clockOffsetMs } satisfies ClockMessage)
  }

  /** Asks it to stop, as a deployment does. Contract: rejects if it does not end well. */
  async stop(): Promise<void> {
    this.#process.kill('SIGTERM')
    this.#process.kill('SIGCONT')
    await this.#closed
    const { exitCode } = this.#process
    if (exitCode !== 0 || this.#errors !== '') throw new Error(`replica: ended with ${exitCode}, ${this.#errors}`)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#process.kill('SIGKILL')
    await this.#closed
  }

  #hear(message: ReplicaMessage): void {
    if (message.type === 'ready') this.url = message.url
    if (message.type === 'freezes') {
      this.frozenAt = message.at
      if (!this.#expected) setTimeout(() => this.signal('SIGCONT'), 200)
    }
    if (message.type === 'report') this.reports.push(message.code)
    for (const listener of this.#listeners) listener(message)
  }

  async #heard(type: 'ready' | 'freezes'): Promise<void> {
    if (type === 'freezes' && this.frozenAt !== undefined) return
    const heard = new Promise<'heard'>((resolve) => {
      this.#listeners.add((message) => {
        if (message.type === type) resolve('heard')
      })
    })
    const result = await Promise.race([heard, this.#closed])
    if (result !== 'heard' && type === 'ready') throw new Error(`replica: did not start, ${this.#errors.slice(-2_000)}`)
  }
}
