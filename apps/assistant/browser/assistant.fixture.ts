import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { fileURLToPath } from 'node:url'

const MAIN = fileURLToPath(new URL('../src/main.ts', import.meta.url))
const FOLDER = fileURLToPath(new URL('../../../packages/kernel', import.meta.url))

/** Settings that differ from the default. */
interface Settings {
  readonly wordDelayMs?: number
  readonly model?: string
  readonly lostRuns?: 'continue' | 'ask'
  /** Where traces go, and the address at which a person sees one. */
  readonly collector?: string
  readonly traceUrl?: string
}

/** The app in its own process, with its own database. */
export class AssistantProcess implements AsyncDisposable {
  url = ''
  readonly #folder: string
  readonly #settings: Settings
  #child: ChildProcess | undefined

  private constructor(folder: string, settings: Settings) {
    this.#folder = folder
    this.#settings = settings
  }

  static async start(settings: Settings = {}): Promise<AssistantProcess> {
    const assistant = new AssistantProcess(await mkdtemp(join(tmpdir(), 'troupe-assistant-')), settings)
    await assistant.#start('0')
    return assistant
  }

  /** Ends the process and starts another one at the same address. */
  async restart(signal: NodeJS.Signals = 'SIGTERM'): Promise<void> {
    await this.end(signal)
    await this.#start(new URL(this.url).port)
  }

  /** Kills the process and starts another one at the same address, half a minute later: when the lease of its run has expired. */
  async crash(): Promise<void> {
    await this.end('SIGKILL')
    const database = new DatabaseSync(join(this.#folder, 'chat.db'))
    database.exec('update troupe_leases set expires_at = 0')
    database.close()
    await this.#start(new URL(this.url).port)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.end('SIGTERM')
    await rm(this.#folder, { recursive: true, force: true })
  }

  async #start(port: string): Promise<void> {
    const { wordDelayMs = 8, model, lostRuns, collector, traceUrl } = this.#settings
    const env = {
      PATH: process.env.PATH,
      PORT: port,
      TROUPE_DB: join(this.#folder, 'chat.db'),
      TROUPE_FOLDER: FOLDER,
      TROUPE_WORD_DELAY_MS: String(wordDelayMs),
      ...(model && { TROUPE_MODEL: model }),
      ...(lostRuns && { TROUPE_LOST_RUNS: lostRuns }),
      ...(collector && { OTEL_EXPORTER_OTLP_ENDPOINT: collector }),
      ...(traceUrl && { TROUPE_TRACE_URL: traceUrl }),
    }
    const child = spawn(process.execPath, ['--no-warnings', MAIN], { env })
    this.#child = child
    let printed = ''
    child.stderr.on('data', (chunk) => (printed += chunk))
    this.url = await new Promise((resolve, reject) => {
      child.once('exit', (code) => reject(new Error(`The app ended with ${code}: ${printed}`)))
      child.stdout.on('data', (chunk) => {
        printed += chunk
        const url = /http:\S+/.exec(printed)?.[0]
        if (url) resolve(url)
      })
    })
  }

  async end(signal: NodeJS.Signals): Promise<void> {
    const child = this.#child
    if (!child || child.exitCode !== null || child.signalCode !== null) return
    const ended = once(child, 'exit')
    child.kill(signal)
    await ended
  }
}
