import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'

/** Has a compatibility date and no flag, so that Node's modules do not exist. */
const configOf = (env: Readonly<Record<string, string>>) => `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [(name = "main", worker = .worker)],
  sockets = [(name = "http", address = "127.0.0.1:0", http = (), service = "main")],
);
const worker :Workerd.Worker = (
  modules = [(name = "worker.js", esModule = embed "worker.js")],
  compatibilityDate = "2025-01-01",
  bindings = [${Object.entries(env).map(([name, text]) => `(name = "${name}", text = "${text}")`)}],
);
`

/** Whether workerd exists for this machine. */
export const hasWorkerd: boolean = /^(linux-(x64|arm64)|darwin-(x64|arm64)|win32-x64)$/.test(
  `${process.platform}-${process.arch}`,
)

/** A worker in workerd, the runtime of Cloudflare Workers, on a free port. */
export class WorkerdProcess implements AsyncDisposable {
  readonly url: string
  /** The output of the worker and of workerd itself. */
  readonly printed: () => string
  readonly #child: ChildProcess
  readonly #folder: string

  private constructor(child: ChildProcess, folder: string, url: string, printed: () => string) {
    this.#child = child
    this.#folder = folder
    this.url = url
    this.printed = printed
  }

  static async start(code: string, env: Readonly<Record<string, string>> = {}): Promise<WorkerdProcess> {
    const folder = await mkdtemp(join(tmpdir(), 'troupe-workerd-'))
    await writeFile(join(folder, 'worker.js'), code)
    await writeFile(join(folder, 'config.capnp'), configOf(env))
    const { default: binary }: { default: string } = createRequire(import.meta.url)('workerd')
    const child = spawn(binary, ['serve', '--control-fd=3', join(folder, 'config.capnp')], {
      stdio: ['ignore', 'pipe', 'pipe', 'pipe'],
    })
    let printed = ''
    for (const stream of [child.stdout, child.stderr]) stream?.on('data', (chunk) => (printed += chunk))
    const port = await new Promise<number>((resolve, reject) => {
      const failed = (why: unknown) => reject(new Error(`workerd did not start, ${why}: ${printed}`))
      child.once('error', failed)
      child.once('close', (code) => failed(`exit code ${code}`))
      createInterface(child.stdio[3] as Readable).on('line', (line) => {
        const { event, port } = JSON.parse(line)
        if (event === 'listen') resolve(port)
      })
    })
    return new WorkerdProcess(child, folder, `http://127.0.0.1:${port}`, () => printed)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#child.exitCode === null && this.#child.signalCode === null) {
      const ended = once(this.#child, 'exit')
      this.#child.kill('SIGKILL')
      await ended
    }
    await rm(this.#folder, { recursive: true, force: true })
  }
}
