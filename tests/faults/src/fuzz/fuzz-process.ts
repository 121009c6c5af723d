import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Condition, FuzzServerMessage } from './condition.ts'

/** The process that the fuzzer attacks. */
export class FuzzProcess implements AsyncDisposable {
  readonly #process: ChildProcess
  readonly #folder: string
  /** The errors that it printed. */
  printed = ''
  urls: FuzzServerMessage = { agUi: '', assistant: '' }

  private constructor() {
    this.#folder = mkdtempSync(join(tmpdir(), 'troupe-fuzz-'))
    const program = fileURLToPath(new URL('./fuzz-server.ts', import.meta.url))
    this.#process = fork(program, [this.#folder], {
      execArgv: ['--no-warnings', '--expose-gc'],
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
      env: { ...process.env, NODE_OPTIONS: '' },
    })
    this.#process.stderr?.setEncoding('utf8').on('data', (text: string) => {
      this.printed += text
    })
  }

  static async start(): Promise<FuzzProcess> {
    const fuzzed = new FuzzProcess()
    fuzzed.urls = await fuzzed.#hear<FuzzServerMessage>()
    return fuzzed
  }

  /** Contract: undefined if the process is gone. */
  async condition(): Promise<Condition | undefined> {
    if (this.#process.exitCode !== null || this.#process.signalCode !== null) return undefined
    this.#process.send('condition')
    return this.#hear<Condition>()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#process.kill('SIGKILL')
    if (this.#process.exitCode === null && this.#process.signalCode === null) await once(this.#process, 'exit')
    rmSync(this.#folder, { recursive: true, force: true })
  }

  async #hear<T>(): Promise<T> {
    const gone = once(this.#process, 'exit').then(() => {
      throw new Error('fuzz: the server process is gone')
    })
    const [message] = await Promise.race([once(this.#process, 'message'), gone])
    gone.catch(() => undefined)
    return message as T
  }
}
