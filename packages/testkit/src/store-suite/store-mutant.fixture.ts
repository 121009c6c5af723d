import type { Clock, Owner, Store, ThreadRef } from '@troupe/kernel'

/** A store broken on purpose, and the clauses that must all notice. */
export interface StoreMutant {
  readonly wrong: string
  readonly caught: readonly string[]
  /** The ports that are broken, made of a sound store. */
  readonly ports: (store: Store, clock: Clock) => Partial<Store>
}

/** A ref or owner as a key of a map. */
export function keyOf({ app, user, ...rest }: Owner): string {
  return JSON.stringify([app, user, rest])
}

/** A lease port that remembers what it gave last, by thread. */
export interface Remembering {
  readonly given: Map<string, { readonly token: number; readonly runId: string; readonly expiresAt: number }>
  readonly leases: Store['leases']
}

/** Makes a lease port remember. */
export function remembering({ leases }: Store, clock: Clock): Remembering {
  const given: Remembering['given'] = new Map()
  const remembered = {
    ...leases,
    async acquire(ref: ThreadRef, holder: { readonly runId: string; readonly ttlMs: number }) {
      const lease = await leases.acquire(ref, holder)
      given.set(keyOf(ref), { token: lease.token, runId: holder.runId, expiresAt: clock.now() + holder.ttlMs })
      return lease
    },
  }
  return { given, leases: remembered }
}

/** A gap in which another caller may come between. */
export function gap(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}
