import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import type { RestateWorkerOptions } from '@troupe/durable-restate'
import { freePort } from '../../../packages/durable-restate/src/restate.fixture.ts'
import type { StorePlace } from './open-store.ts'

/** What a worker process is given. */
export interface WorkerTask {
  readonly store: StorePlace
  /** The file that gets its effects. */
  readonly effects: string
  readonly port: number
  readonly options?: Pick<RestateWorkerOptions, 'stepMs' | 'maxStepChars' | 'maxAttempts'>
}

/** What a server process is given. */
export interface ServerTask extends Pick<WorkerTask, 'store' | 'effects' | 'port'> {
  readonly ingress: string
}

/** A worker or a server in a process of its own, which is killed on disposal, even if it is frozen. */
export class WorkerProcess implements AsyncDisposable {
  readonly port: number
  readonly #process: ChildProcess
  readonly #closed: Promise<unknown>
  #output = ''

  private constructor(port: number, process: ChildProcess) {
    this.port = port
    this.#process = process
    this.#closed = once(process, 'close')
  }

  static async start(
    task: Omit<WorkerTask, 'port'> | Omit<ServerTask, 'port'>,
    name: 'worker' | 'server' = 'worker',
  ): Promise<WorkerProcess> {
    const port = await freePort()
    const program = fileURLToPath(new URL(`./${name}.ts`, import.meta.url))
    const own = spawn(process.execPath, ['--no-warnings', program, JSON.stringify({ ...task, port })], {
      stdio: ['ignore', 'pipe', 'pipe'],
      // Only the first worker compiles its code.
      env: { ...process.env, NODE_OPTIONS: '', NODE_COMPILE_CACHE: `${task.effects}.cache` },
    })
    const worker = new WorkerProcess(port, own)
    const ready = new Promise<void>((resolve, reject) => {
      for (const stream of [own.stdout, own.stderr]) {
        stream?.setEncoding('utf8').on('data', (chunk: string) => {
          worker.#output = (worker.#output + chunk).slice(-20_000)
          if (chunk.includes('ready')) resolve()
        })
      }
      own.once('exit', () => reject(new Error(`a worker ended: ${worker.#output}`)))
    })
    await ready
    return worker
  }

  get pid(): number {
    return this.#process.pid ?? 0
  }

  get output(): string {
    return this.#output
  }

  signal(signal: 'SIGKILL' | 'SIGSTOP' | 'SIGCONT' | 'SIGTERM'): void {
    this.#process.kill(signal)
  }

  /** Kills the process as a crash does. */
  async kill(): Promise<void> {
    this.#process.kill('SIGKILL')
    await this.#closed
  }

  /** Asks it to stop, and waits until it has. */
  async stop(): Promise<void> {
    this.#process.kill('SIGTERM')
    await this.#closed
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.kill()
  }
}
