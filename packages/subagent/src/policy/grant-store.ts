import type { Owner } from '@troupe/kernel'
import { checkOption, checkOptionNames } from '@troupe/kernel/kit'

/** The permission that an answer with `always` gives: the calls of one tool by one agent run without a question. Contract: plain JSON. */
export type Grant = {
  /** The same for the same permission. */
  readonly id: string
  /** The identity of the caller: `a/b`. */
  readonly agent: string
  readonly tool: string
  /** The thread in which it holds; in all threads of its owner if absent. */
  readonly threadId?: string
  /** The rule that asked, as JSON; absent if the default asked. It holds for questions of this rule only. */
  readonly rule?: string
  /** Milliseconds since the epoch. */
  readonly at: number
}

/** Saves the grants of each owner. Contract: an owner neither sees nor changes those of another one; `add` replaces a grant of the same id. */
export interface GrantStore {
  list(owner: Owner): Promise<readonly Grant[]>
  add(owner: Owner, grant: Grant): Promise<void>
  /** Removes a grant and returns whether it was there. Contract: the next call asks again. */
  revoke(owner: Owner, id: string): Promise<boolean>
}

/** The options of `memoryGrants`. */
export interface MemoryGrantsOptions {
  /** The number of grants kept for one owner; the oldest one goes first. @default 1000 */
  readonly maxPerOwner?: number
}

/**
 * Keeps grants in memory, until the process ends.
 * @example const policy = createPolicy({ grants: memoryGrants() })
 */
export function memoryGrants(options: MemoryGrantsOptions = {}): GrantStore {
  checkOptionNames('memoryGrants', options, { maxPerOwner: true })
  const { maxPerOwner = 1000 } = options
  checkOption(
    Number.isInteger(maxPerOwner) && maxPerOwner > 0,
    'memoryGrants',
    'maxPerOwner must be a whole number from 1 on',
    maxPerOwner,
  )
  const owners = new Map<string, Map<string, Grant>>()
  const keyOf = ({ app, user }: Owner) => JSON.stringify([app, user])
  return {
    async list(owner) {
      return [...(owners.get(keyOf(owner))?.values() ?? [])]
    },
    async add(owner, grant) {
      const key = keyOf(owner)
      const own = owners.get(key) ?? new Map<string, Grant>()
      own.delete(grant.id)
      own.set(grant.id, Object.freeze({ ...grant }))
      owners.set(key, own)
      const [oldest] = own.keys()
      if (own.size > maxPerOwner && oldest !== undefined) own.delete(oldest)
    },
    async revoke(owner, id) {
      const key = keyOf(owner)
      const own = owners.get(key)
      const removed = own?.delete(id) ?? false
      if (own?.size === 0) owners.delete(key)
      return removed
    },
  }
}
