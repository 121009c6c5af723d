import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Store } from '@troupe/kernel'
import { memoryStore } from '@troupe/kernel/memory-store'
import { sqliteStore } from '@troupe/store-sqlite'

/** A store in memory and one in a SQLite file. */
export interface BenchStores extends AsyncDisposable {
  readonly memory: Store
  readonly sqlite: Store
}

export function benchStores(): BenchStores {
  const folder = mkdtempSync(join(tmpdir(), 'troupe-bench-'))
  const sqlite = sqliteStore({ path: join(folder, 'bench.db') })
  return {
    memory: memoryStore(),
    sqlite,
    async [Symbol.asyncDispose]() {
      await sqlite[Symbol.asyncDispose]()
      rmSync(folder, { recursive: true })
    },
  }
}
