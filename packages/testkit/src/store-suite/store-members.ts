import type {
  BlobStore,
  CounterStore,
  FactStore,
  GrantStore,
  JournalStore,
  LeaseStore,
  RecordStore,
  RunLogStore,
  Store,
  ThreadStore,
} from '@troupe/kernel'
import { demand, shown } from '../fault.ts'

type Methods<Port> = { readonly [Name in keyof Required<Port>]: true }

const threads: Methods<ThreadStore> = {
  get: true,
  open: true,
  commit: true,
  messages: true,
  known: true,
  processed: true,
  list: true,
  recent: true,
  label: true,
  fork: true,
  cut: true,
  delete: true,
  idle: true,
}
const records: Methods<RecordStore> = {
  apply: true,
  runs: true,
  toolCalls: true,
  modelCalls: true,
  usage: true,
  open: true,
  prune: true,
}
const runLog: Methods<RunLogStore> = { append: true, follow: true, compact: true, prune: true }
const journal: Methods<JournalStore> = { append: true, read: true, lost: true }
const leases: Methods<LeaseStore> = { acquire: true, renew: true, release: true, requestCancel: true }
const grants: Methods<GrantStore> = { list: true, add: true, revoke: true }

const blobs: Methods<BlobStore> = { put: true, get: true }
const counters: Methods<CounterStore> = { add: true, prune: true }
const facts: Methods<FactStore> = { add: true, list: true, search: true, near: true, forget: true }

const PORTS = { threads, records, runLog, journal, leases, grants }
/** Ports that a store may leave out as a whole. */
const OPTIONAL = { blobs, counters, facts }

/** Contract: a store has every member; the fault names all that are missing. */
export function demandStore(value: unknown, who: string): asserts value is Store {
  const todo =
    'Return a Store: `(clock) => yourStore({ clock })`, or `{ store, keeps, reopen }`; it may be a promise of one.'
  demand(typeof value === 'object' && value !== null, `${who} gave ${shown(value)}, which is not a store`, todo)
  const missing = missingIn(value as Record<PropertyKey, unknown>)
  const add =
    'Write these members first; the other clauses call them. The interfaces are `Store` and its ports in @troupe/kernel.'
  demand(missing.length === 0, `The store lacks ${missing.join(', ')}`, add)
}

function missingIn(store: Record<PropertyKey, unknown>): readonly string[] {
  const optional = Object.entries(OPTIONAL).filter(([name]) => store[name] !== undefined)
  const missing = [...Object.entries<Record<string, true>>(PORTS), ...optional].flatMap(([name, methods]) => {
    const port = store[name] as Record<string, unknown> | null | undefined
    if (typeof port !== 'object' || port === null) return [name]
    return Object.keys(methods).flatMap((method) => (typeof port[method] === 'function' ? [] : [`${name}.${method}()`]))
  })
  return typeof store[Symbol.asyncDispose] === 'function' ? missing : [...missing, '[Symbol.asyncDispose]()']
}
