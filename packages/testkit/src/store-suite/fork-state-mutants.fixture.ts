import { keyOf, type StoreMutant } from './store-mutant.fixture.ts'
import { committing, showing, wrong } from './wrong-branches.fixture.ts'

/** Stores that are wrong about past states and processed ids, and about what a delete leaves. */
export const forkStateMutants: readonly StoreMutant[] = [
  {
    wrong: 'a branch has the state that its source has now',
    caught: [
      'the state of a branch is that after the message at the cut',
      'a branch of a branch has the state of the thread it is made of, on both sides of a cut',
    ],
    ports: showing((branch, { state }) => ({ ...branch, state })),
  },
  {
    wrong: 'changes of the state that come with a message are left out',
    caught: ['the state of a thread is that after all changes of a commit, in order'],
    ports: committing(({ changes, ...message }) => message),
  },
  {
    wrong: 'keys that a message removes stay',
    caught: ['the state of a thread is that after all changes of a commit, in order'],
    ports: committing((message) =>
      message.changes?.set ? { ...message, changes: { set: message.changes.set } } : message,
    ),
  },
  {
    wrong: 'the changes of a message that the thread has are left out',
    caught: ['the changes of a message that the thread has count, after the others'],
    ports: committing(({ changes, ...message }, known) =>
      known.has(message.message.id) || !changes ? message : { ...message, changes },
    ),
  },
  {
    wrong: 'the changes of a commit count for its first message',
    caught: ['the state of a branch is that after the message at the cut'],
    ports: wrong((threads) => ({
      commit(ref, commit, token) {
        const [first, ...others] = commit?.messages ?? []
        if (!first || !commit.set) return threads.commit(ref, commit, token)
        const { set, ...rest } = commit
        const changes = { ...first.changes, set: { ...first.changes?.set, ...set } }
        return threads.commit(ref, { ...rest, messages: [{ ...first, changes }, ...others] }, token)
      },
    })),
  },
  {
    wrong: 'a branch has only what changed with messages, not what changed between them',
    caught: [
      'a commit without messages counts for the last message',
      'a branch of a branch has the state of the thread it is made of, on both sides of a cut',
    ],
    ports: wrong((threads, branches) => {
      const between = new Map<string, Set<string>>()
      return {
        commit(ref, commit, token) {
          const keys = between.get(keyOf(ref)) ?? new Set()
          if (!commit?.messages) for (const key of Object.keys(commit?.set ?? {})) keys.add(key)
          between.set(keyOf(ref), keys)
          return threads.commit(ref, commit, token)
        },
        async fork(ref, request) {
          const branch = await branches.fork(ref, request)
          const kept = Object.entries(branch.state).filter(([key]) => !between.get(keyOf(ref))?.has(key))
          return { ...branch, state: Object.fromEntries(kept) }
        },
      }
    }),
  },
  {
    wrong: 'a branch sees what its source changes later without a message',
    caught: ['what source and branch change after the cut stays their own, also without a message'],
    ports: wrong((threads, branches) => ({
      async get(ref) {
        const thread = await threads.get(ref)
        const made = branches.of(ref)
        const source = made && (await threads.get(made.source))
        return thread && source ? { ...thread, state: { ...thread.state, ...source.state } } : thread
      },
    })),
  },
  {
    wrong: 'long keys of the state are cut',
    caught: ['keys and values of every kind come back at every message'],
    ports: showing((branch) => ({
      ...branch,
      state: Object.fromEntries(Object.entries(branch.state).map(([key, value]) => [key.slice(0, 1000), value])),
    })),
  },
  {
    wrong: 'a branch has processed only what it has processed itself',
    caught: ['a branch has processed what was processed up to the cut, and its own'],
    ports: wrong((threads, branches) => ({
      processed: async (ref, ids) => (branches.of(ref) ? [] : threads.processed(ref, ids)),
    })),
  },
  {
    wrong: 'a branch has processed all that its source has',
    caught: ['a branch has processed what was processed up to the cut, and its own'],
    ports: wrong((threads, branches) => ({
      async processed(ref, ids) {
        const all = await Promise.all([ref, branches.of(ref)?.source ?? ref].map((of) => threads.processed(of, ids)))
        return ids.filter((id) => all.some((some) => some.includes(id)))
      },
    })),
  },
  {
    wrong: 'a processed id counts for the last message of its commit, though it is that of another',
    caught: ['a branch has processed what was processed up to the cut, and its own'],
    ports: wrong((threads) => ({
      async commit(ref, commit, token) {
        const { processed, ...rest } = commit ?? {}
        if (!processed || !rest.messages) return threads.commit(ref, commit, token)
        await threads.commit(ref, rest, token)
        return threads.commit(ref, { processed }, token)
      },
    })),
  },
  {
    wrong: 'a deleted source takes the messages that its branches share',
    caught: [
      'a deleted source leaves its branches complete',
      'a branch that is made while its source is deleted is complete, or is not made',
    ],
    ports: wrong((threads, branches) => ({
      async messages(ref, page) {
        const messages = await threads.messages(ref, page)
        const made = branches.of(ref)
        return !made || (await threads.get(made.source)) ? messages : messages.filter(({ seq }) => seq > made.cut)
      },
    })),
  },
  {
    wrong: 'a deleted source takes the past states of its branches',
    caught: ['a deleted source leaves its branches complete'],
    ports: wrong((threads, branches) => ({
      async fork(ref, request) {
        const branch = await branches.fork(ref, request)
        const source = branches.of(ref)?.source ?? ref
        return (await threads.get(source)) ? branch : { ...branch, state: {} }
      },
    })),
  },
  {
    wrong: 'a deleted branch takes what it shares from its source and its branches',
    caught: ['a deleted branch leaves its source and its own branches complete'],
    ports: wrong((threads, branches) => {
      let cut = 0
      return {
        async delete(ref) {
          cut = branches.of(ref)?.cut ?? 0
          return threads.delete(ref)
        },
        messages: async (ref, page) => (await threads.messages(ref, page)).filter(({ seq }) => seq > cut),
      }
    }),
  },
  {
    wrong: 'a deleted thread leaves its processed ids for a branch with its id',
    caught: ['the id of a deleted thread is free for a branch, which has nothing of it'],
    ports: wrong((threads) => {
      const left = new Set<string>()
      return {
        async delete(ref) {
          for (const id of await threads.processed(ref, ['old'])) left.add(id)
          return threads.delete(ref)
        },
        processed: async (ref, ids) => {
          const found = await threads.processed(ref, ids)
          return ids.filter((id) => found.includes(id) || left.has(id))
        },
      }
    }),
  },
]
