import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** A Restate server to test on. */
export interface TestRestate extends AsyncDisposable {
  /** The address of the ingress, and of the admin API. */
  readonly ingress: string
  readonly admin: string
  /** Kills the server as a crash does. */
  kill(): Promise<void>
  /** Starts it again on its data. */
  start(): Promise<void>
  /** Asks its tables. */
  ask(query: string): Promise<readonly Record<string, unknown>[]>
}

/** The server of npm for this platform; undefined where there is none. */
export function restateBinary(): string | undefined {
  try {
    const entry = import.meta.resolve(`@restatedev/restate-server-${process.platform}-${process.arch}/package.json`)
    const path = join(fileURLToPath(entry), '../bin/restate-server')
    return existsSync(path) ? path : undefined
  } catch {
    return undefined
  }
}

/** Why tests are left out where there is no server. */
export const NO_RESTATE: string | undefined = restateBinary()
  ? undefined
  : `npm has no Restate server for ${process.platform}-${process.arch}, so these tests are left out`

/** Starts a server of one node on loopback, with its data in a temporary folder. */
export async function startRestate(): Promise<TestRestate> {
  const [node] = await startRestateNodes(1)
  return node as TestRestate
}

/** Starts the nodes of one cluster. Contract: of three, each record is on two. */
export async function startRestateNodes(count: number): Promise<readonly TestRestate[]> {
  const ports = await Promise.all(Array.from({ length: count }, () => freePort()))
  const nodes = await Promise.all(
    ports.map(async (port, i) => {
      const [ingress, admin] = await Promise.all([freePort(), freePort()])
      const home = mkdtempSync(join(tmpdir(), 'troupe-restate-'))
      writeFileSync(join(home, 'restate.toml'), configOf({ home, ingress, admin, ports, number: i + 1, port }))
      return new Server(home, `http://127.0.0.1:${ingress}`, `http://127.0.0.1:${admin}`)
    }),
  )
  try {
    await Promise.all(nodes.map((node) => node.start()))
  } catch (error) {
    await Promise.all(nodes.map((node) => node[Symbol.asyncDispose]()))
    throw error
  }
  return nodes
}

class Server implements TestRestate {
  readonly #home: string
  readonly ingress: string
  readonly admin: string
  #process: ChildProcess | undefined

  constructor(home: string, ingress: string, admin: string) {
    this.#home = home
    this.ingress = ingress
    this.admin = admin
  }

  async start(): Promise<void> {
    const env = { PATH: process.env.PATH, DO_NOT_TRACK: '1', RESTATE_DISABLE_TELEMETRY: 'true', RUST_LOG: 'warn' }
    const server = spawn(
      restateBinary() as string,
      ['--listen-mode', 'tcp', '--config-file', join(this.#home, 'restate.toml')],
      {
        env,
        stdio: ['ignore', 'pipe', 'pipe'],
      },
    )
    this.#process = server
    let log = ''
    for (const output of [server.stdout, server.stderr]) {
      output.on('data', (chunk) => {
        log = (log + chunk).slice(-10_000)
      })
    }
    // The server must not outlive the tests, even if they crash.
    const kill = () => void server.kill('SIGKILL')
    process.once('exit', kill)
    server.once('exit', () => process.off('exit', kill))
    await until(async () => {
      if (server.exitCode !== null) throw new Error(`restate-server ended: ${log}`)
      const [health, admin] = await Promise.all([
        fetch(`${this.ingress}/restate/health`),
        fetch(`${this.admin}/health`),
      ])
      return health.ok && admin.ok
    })
  }

  async kill(): Promise<void> {
    const server = this.#process
    if (!server || server.exitCode !== null || server.signalCode !== null) return
    const exited = new Promise((resolve) => server.once('exit', resolve))
    server.kill('SIGKILL')
    await exited
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill()
    rmSync(this.#home, { recursive: true, force: true })
  }

  async ask(query: string): Promise<readonly Record<string, unknown>[]> {
    const response = await fetch(`${this.admin}/query`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', accept: 'application/json' },
      body: JSON.stringify({ query }),
    })
    if (!response.ok) throw new Error(await response.text())
    return ((await response.json()) as { rows: Record<string, unknown>[] }).rows
  }
}

/** Waits for something that fails at first. */
async function until(check: () => Promise<boolean>): Promise<void> {
  for (let attempt = 0; ; attempt++) {
    try {
      if (await check()) return
    } catch (error) {
      if (attempt > 300 || (error as Error).message.startsWith('restate-server ended')) throw error
    }
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
}

interface NodeConfig {
  readonly home: string
  readonly ingress: number
  readonly admin: number
  /** The ports of all nodes, and that of this one. */
  readonly ports: readonly number[]
  readonly port: number
  readonly number: number
}

function configOf({ home, ingress, admin, ports, port, number }: NodeConfig): string {
  return `
roles = ["worker", "admin", "metadata-server", "log-server", "http-ingress"]
node-name = "n${number}"
cluster-name = "test"
base-dir = "${home}"
auto-provision = ${number === 1}
disable-telemetry = true
default-num-partitions = 4
default-replication = ${ports.length > 1 ? 2 : 1}
bind-address = "127.0.0.1:${port}"
advertised-address = "http://127.0.0.1:${port}"
rocksdb-total-memory-size = "128 MB"

[metadata-client]
addresses = [${ports.map((one) => `"http://127.0.0.1:${one}"`).join(', ')}]

[admin]
bind-address = "127.0.0.1:${admin}"

[ingress]
bind-address = "127.0.0.1:${ingress}"

[worker.invoker]
http2-keep-alive-interval = "1s"
http2-keep-alive-timeout = "1s"
`
}

/** A port that nobody uses. */
export function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer()
    server.once('error', reject)
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address() as { port: number }
      server.close(() => resolve(port))
    })
  })
}
