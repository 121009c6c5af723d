import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startPostgres, type TestServer } from '../../../../packages/store-postgres/src/postgres.fixture.ts'
import type { Place, StoreKind } from './open-store.ts'

/** Room for one case: a store of its own, so that cases do not see each other. */
export interface Room {
  readonly place: Place
  /** A file for the effects of tools. */
  readonly effects: string
}

/** Gives each case a database, and takes it back. */
export class Databases implements AsyncDisposable {
  readonly #folder: string
  readonly #server: TestServer
  /** A folder for compiled code. */
  readonly cache: string

  private constructor(server: TestServer) {
    this.#server = server
    this.#folder = mkdtempSync(join(tmpdir(), 'troupe-faults-'))
    this.cache = join(this.#folder, 'cache')
  }

  static async start(): Promise<Databases> {
    return new Databases(await startPostgres())
  }

  /** Runs a case in a room; what is in it is gone afterwards. */
  async within<T>(kind: StoreKind, name: string, work: (room: Room) => Promise<T>): Promise<T> {
    const folder = join(this.#folder, `${kind}-${name}`)
    const schema = this.#server.schema()
    mkdirSync(folder)
    const place: Place =
      kind === 'sqlite' ? { kind, path: join(folder, 'store.db') } : { kind, url: this.#server.url, schema }
    try {
      return await work({ place, effects: join(folder, 'effects') })
    } finally {
      if (kind === 'postgres') await this.#server.ask(`drop schema if exists ${schema} cascade`)
      rmSync(folder, { recursive: true })
    }
  }

  /** Cuts off one connection of the server. */
  async cutOff(backend: number): Promise<void> {
    await this.#server.ask('select pg_terminate_backend($1)', [backend])
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server[Symbol.asyncDispose]()
    rmSync(this.#folder, { recursive: true, force: true })
  }
}
