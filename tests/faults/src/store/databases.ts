import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startPostgres, type TestServer } from '../../../../packages/store-postgres/src/postgres.fixture.ts'
import type { StoreAddress, StoreKind } from './open-store.ts'

/** The storage of one case, so that cases do not see each other. */
export interface CaseStorage {
  readonly address: StoreAddress
  /** The file for the effects of tools. */
  readonly effects: string
}

/** Creates a database for each case and removes it afterwards. */
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

  /** Runs a case in its own storage, which is deleted afterwards. */
  async withStorage<T>(kind: StoreKind, name: string, work: (storage: CaseStorage) => Promise<T>): Promise<T> {
    const folder = join(this.#folder, `${kind}-${name}`)
    const schema = this.#server.schema()
    mkdirSync(folder)
    const address: StoreAddress =
      kind === 'sqlite' ? { kind, path: join(folder, 'store.db') } : { kind, url: this.#server.url, schema }
    try {
      return await work({ address, effects: join(folder, 'effects') })
    } finally {
      if (kind === 'postgres') await this.#server.ask(`drop schema if exists ${schema} cascade`)
      rmSync(folder, { recursive: true })
    }
  }

  /** Terminates one connection of the server. */
  async terminate(backend: number): Promise<void> {
    await this.#server.ask('select pg_terminate_backend($1)', [backend])
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server[Symbol.asyncDispose]()
    rmSync(this.#folder, { recursive: true, force: true })
  }
}
