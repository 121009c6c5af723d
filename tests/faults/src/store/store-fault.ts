import { DatabaseSync } from 'node:sqlite'
import { KernelError } from '@troupe/kernel'
import type { Random } from '../random.ts'
import type { OnMoment, StoreAddress, StoreKind } from './open-store.ts'

/** The ways in which a store goes wrong while its process continues. */
export type FaultKind =
  | 'fails'
  | 'fails for good'
  | 'loses the answer'
  | 'hangs'
  | 'hangs after writing'
  | 'is slow'
  | 'is late'
  | 'is down'
  | 'is locked'
  | 'loses the connection'

const EVERYWHERE: readonly FaultKind[] = [
  'fails',
  'loses the answer',
  'hangs',
  'hangs after writing',
  'is slow',
  'is late',
  'is down',
  'fails for good',
]

/** The faults that a store can have: a file can be locked, a server can lose connections. */
export function faultsOf(kind: StoreKind): readonly FaultKind[] {
  return [...EVERYWHERE, kind === 'sqlite' ? 'is locked' : 'loses the connection']
}

/** The share of calls that go wrong, for the faults that hit more than one call. */
const RATES: { readonly [kind in FaultKind]?: number } = { fails: 0.12, 'loses the answer': 0.12, 'is slow': 0.2 }
/** The number of calls that an outage lasts. */
const OUTAGE = 25
const CONNECTIONS_LOST = 4

/** One kind of fault, at points that the seed decides. */
export class StoreFault {
  readonly kind: FaultKind
  /** The calls and statements that went wrong. */
  readonly hits: string[] = []
  readonly #random: Random
  readonly #address: StoreAddress
  readonly #terminate: (backend: number) => Promise<void>
  readonly #pending: Set<Promise<unknown>> = new Set()
  readonly #statements: ReadonlySet<number>
  /** The first call that goes wrong. */
  readonly #from: number
  #calls = 0
  #statementCount = 0
  #over = false

  constructor(
    kind: FaultKind,
    address: StoreAddress,
    random: Random,
    baseline: { readonly calls: number; readonly statements: number },
    terminate: (backend: number) => Promise<void>,
  ) {
    this.kind = kind
    this.#address = address
    this.#random = random
    this.#terminate = terminate
    // A short conversation has fewer calls than the baseline, so the last part of the baseline may have nothing to hit.
    this.#from = 1 + random.below(baseline.calls * 0.6)
    this.#statements = new Set(Array.from({ length: CONNECTIONS_LOST }, () => 1 + random.below(baseline.statements)))
  }

  /** Ends the fault. Contract: resolves when all late calls have been made. */
  async end(): Promise<void> {
    this.#over = true
    await Promise.allSettled(this.#pending)
  }

  async call(name: string, perform: () => Promise<unknown>): Promise<unknown> {
    this.#calls++
    if (this.#over || !this.#isHit(name)) return perform()
    this.hits.push(`${this.kind}: ${name}`)
    switch (this.kind) {
      case 'is slow':
        await pause(this.#random.below(80))
        return perform()
      case 'is late':
        return this.#late(perform)
      case 'is locked':
        return this.#locked(perform)
      case 'hangs':
        return new Promise(() => {})
      case 'hangs after writing':
        await perform()
        return new Promise(() => {})
      case 'loses the answer':
        await perform()
        throw unavailable({ outcome: 'unknown' })
      case 'fails for good':
        throw new KernelError('STORE_FAILED', 'faults: the store failed for good')
      default:
        throw unavailable({})
    }
  }

  statement(sql: string, backend: number): OnMoment | undefined {
    if (this.#over || this.kind !== 'loses the connection' || !this.#statements.has(++this.#statementCount))
      return undefined
    const at: string = this.#random.pick(['before', 'sent'])
    this.hits.push(`${this.kind}: ${at} ${sql.split(' ', 2).join(' ')}`)
    return (moment) => (moment === at ? this.#terminate(backend) : undefined)
  }

  #isHit(name: string): boolean {
    const { kind } = this
    if (kind === 'loses the connection') return false
    const rate = RATES[kind]
    if (rate !== undefined) return this.#random.chance(rate)
    if (kind === 'is down') return this.#calls >= this.#from && this.#calls < this.#from + OUTAGE
    // The caller itself waits for its run log, so a log that hangs would stop the test.
    if (kind.startsWith('hangs') && name.startsWith('runLog')) return false
    return this.#calls >= this.#from && this.hits.length === 0
  }

  /** Takes longer than any limit allows, and is made all the same. */
  #late(perform: () => Promise<unknown>): Promise<unknown> {
    const late = pause(700 + this.#random.below(700)).then(perform)
    this.#pending.add(late)
    return late
  }

  async #locked(perform: () => Promise<unknown>): Promise<unknown> {
    if (this.#address.kind !== 'sqlite') return perform()
    const other = new DatabaseSync(this.#address.path, { timeout: 1_000 })
    other.exec('begin immediate')
    const held = pause(50 + this.#random.below(900)).then(() => other.close())
    this.#pending.add(held)
    return perform()
  }
}

function unavailable(details: { readonly outcome?: string }): KernelError {
  return new KernelError('STORE_UNAVAILABLE', 'faults: the store does not answer', { retryable: true, details })
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => void setTimeout(resolve, ms))
}
