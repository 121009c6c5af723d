import { DatabaseSync } from 'node:sqlite'
import { KernelError } from '@troupe/kernel'
import type { Random } from '../random.ts'
import type { OnMoment, Place, StoreKind } from './open-store.ts'

/** What goes wrong with a store while its process goes on. */
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

/** The faults that a store can have: a file can be locked by others, a server can be cut off. */
export function faultsOf(kind: StoreKind): readonly FaultKind[] {
  return [...EVERYWHERE, kind === 'sqlite' ? 'is locked' : 'loses the connection']
}

/** Of these every so-manieth call goes wrong; of the others one. */
const RATES: { readonly [kind in FaultKind]?: number } = { fails: 0.12, 'loses the answer': 0.12, 'is slow': 0.2 }
/** How many calls an outage lasts. */
const OUTAGE = 25
const CONNECTIONS_LOST = 4

/** One kind of fault at points that the seed decides. */
export class StoreFault {
  readonly kind: FaultKind
  /** What it has hit. */
  readonly hits: string[] = []
  readonly #random: Random
  readonly #place: Place
  readonly #cutOff: (backend: number) => Promise<void>
  readonly #pending: Set<Promise<unknown>> = new Set()
  readonly #statements: ReadonlySet<number>
  /** The call from which on it goes wrong. */
  readonly #from: number
  #calls = 0
  #asked = 0
  #over = false

  constructor(
    kind: FaultKind,
    place: Place,
    random: Random,
    whole: { readonly calls: number; readonly statements: number },
    cutOff: (backend: number) => Promise<void>,
  ) {
    this.kind = kind
    this.#place = place
    this.#random = random
    this.#cutOff = cutOff
    // Conversations differ; in the last part of a long one there may be nothing to hit in a short one.
    this.#from = 1 + random.below(whole.calls * 0.6)
    this.#statements = new Set(Array.from({ length: CONNECTIONS_LOST }, () => 1 + random.below(whole.statements)))
  }

  /** The store is well again. Contract: resolves when what came late has come. */
  async end(): Promise<void> {
    this.#over = true
    await Promise.allSettled(this.#pending)
  }

  async call(name: string, perform: () => Promise<unknown>): Promise<unknown> {
    this.#calls++
    if (this.#over || !this.#strikes(name)) return perform()
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
        throw new KernelError('STORE_FAILED', 'faults: the store has failed')
      default:
        throw unavailable({})
    }
  }

  statement(sql: string, backend: number): OnMoment | undefined {
    if (this.#over || this.kind !== 'loses the connection' || !this.#statements.has(++this.#asked)) return undefined
    const at: string = this.#random.pick(['before', 'sent'])
    this.hits.push(`${this.kind}: ${at} ${sql.split(' ', 2).join(' ')}`)
    return (moment) => (moment === at ? this.#cutOff(backend) : undefined)
  }

  #strikes(name: string): boolean {
    const { kind } = this
    if (kind === 'loses the connection') return false
    const rate = RATES[kind]
    if (rate !== undefined) return this.#random.chance(rate)
    if (kind === 'is down') return this.#calls >= this.#from && this.#calls < this.#from + OUTAGE
    // Whoever keeps a log waits for it himself.
    if (kind.startsWith('hangs') && name.startsWith('runLog')) return false
    return this.#calls >= this.#from && this.hits.length === 0
  }

  /** Takes so long that whoever has a limit gives up, and happens all the same. */
  #late(perform: () => Promise<unknown>): Promise<unknown> {
    const late = pause(700 + this.#random.below(700)).then(perform)
    this.#pending.add(late)
    return late
  }

  async #locked(perform: () => Promise<unknown>): Promise<unknown> {
    if (this.#place.kind !== 'sqlite') return perform()
    const other = new DatabaseSync(this.#place.path, { timeout: 1_000 })
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
