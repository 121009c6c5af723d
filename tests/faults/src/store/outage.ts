import { DatabaseSync } from 'node:sqlite'
import { Gateway } from './gateway.ts'
import type { StoreAddress } from './open-store.ts'

/** A database that goes away and comes back. */
export interface Outage extends AsyncDisposable {
  /** Where processes find the database while it is there. */
  readonly address: StoreAddress
  readonly kinds: readonly string[]
  begin(kind: string): void
  end(): void
}

/** PostgreSQL is behind a gateway; a SQLite file is locked by another connection. */
export async function outageOf(address: StoreAddress): Promise<Outage> {
  return address.kind === 'sqlite' ? lockedFile(address) : closedGateway(address)
}

async function closedGateway(address: Extract<StoreAddress, { readonly kind: 'postgres' }>): Promise<Outage> {
  const gateway = await Gateway.start(address.url)
  return {
    address: { ...address, url: gateway.url },
    kinds: ['cut', 'stalled'],
    begin: (kind) => gateway.close(kind as 'cut' | 'stalled'),
    end: () => gateway.open(),
    [Symbol.asyncDispose]: () => gateway[Symbol.asyncDispose](),
  }
}

function lockedFile(address: Extract<StoreAddress, { readonly kind: 'sqlite' }>): Outage {
  let lock: DatabaseSync | undefined
  const end = () => {
    lock?.close()
    lock = undefined
  }
  return {
    address,
    kinds: ['locked'],
    begin() {
      lock = new DatabaseSync(address.path, { timeout: 2_000 })
      lock.exec('begin immediate')
    },
    end,
    async [Symbol.asyncDispose]() {
      end()
    },
  }
}
