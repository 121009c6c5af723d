import type { CommittedMessage, ForkPoint, Store, Thread, ThreadRef, ThreadStore } from '@troupe/kernel'
import { keyOf, type StoreMutant } from './store-mutant.fixture.ts'

type Threads = Partial<ThreadStore>
type Fork = ForkPoint & { readonly to: string }
export type Messages = Awaited<ReturnType<ThreadStore['messages']>>

/** A branch that was made, with the sequence of the last message that it shares. */
export interface Made {
  readonly source: ThreadRef
  readonly cut: number
}

/** The branches that a store has made. */
export class Branches {
  readonly #threads: ThreadStore
  readonly #made = new Map<string, Made>()

  constructor({ threads }: Store) {
    this.#threads = threads
  }

  readonly fork: ThreadStore['fork'] = async (ref, request) => {
    const branch = await this.#threads.fork(ref, request)
    const shared = await this.#threads.messages(branch.ref, { limit: 1000 })
    this.#made.set(keyOf(branch.ref), { source: ref, cut: shared.length })
    return branch
  }

  of(ref: ThreadRef): Made | undefined {
    return this.#made.get(keyOf(ref))
  }

  get all(): readonly Made[] {
    return [...this.#made.values()]
  }
}

/** A store whose threads are wrong in some methods. */
export function wrong(change: (threads: ThreadStore, branches: Branches) => Threads): StoreMutant['ports'] {
  return (store) => {
    const branches = new Branches(store)
    return { threads: { ...store.threads, fork: branches.fork, ...change(store.threads, branches) } }
  }
}

/** A store that makes another branch than it is asked for. */
export function forking(change: (request: Fork, messages: Messages, ref: ThreadRef) => Fork): StoreMutant['ports'] {
  return wrong((threads) => ({
    fork: async (ref, request) => threads.fork(ref, change(request, await threads.messages(ref, { limit: 1000 }), ref)),
  }))
}

/** A store whose messages of a branch are read otherwise. */
export function readingBranch(
  change: (messages: Messages, made: Made) => Messages | Promise<Messages>,
): StoreMutant['ports'] {
  return wrong((threads, branches) => ({
    async messages(ref, page) {
      const messages = await threads.messages(ref, page)
      const made = branches.of(ref)
      return made ? change(messages, made) : messages
    },
  }))
}

/** A store that shows another branch than it has made. */
export function showing(change: (branch: Thread, source: Thread) => Thread): StoreMutant['ports'] {
  return wrong((threads, branches) => ({
    async fork(ref, request) {
      const source = await threads.get(ref)
      const branch = await branches.fork(ref, request)
      return source ? change(branch, source) : branch
    },
  }))
}

/** A store whose commits have other messages. */
export function committing(
  change: (message: CommittedMessage, known: ReadonlySet<string>) => CommittedMessage,
): StoreMutant['ports'] {
  return wrong((threads) => ({
    async commit(ref, commit, token) {
      const known = new Set((await threads.messages(ref, { limit: 1000 })).map(({ message }) => message.id))
      const messages = commit.messages?.map?.((message) => change(message, known))
      return threads.commit(ref, messages ? { ...commit, messages } : commit, token)
    },
  }))
}
