import { KernelError, type RecordCommand, type Store, type ThreadCommit, type ThreadRef } from '@troupe/kernel'
import type { StoreMutant } from './store-mutant.fixture.ts'

/** A store whose errors of malformed input are replaced. */
function failingWith(change: (error: KernelError) => unknown): StoreMutant['ports'] {
  return ({ threads }) => ({
    threads: {
      ...threads,
      async commit(ref, commit, token) {
        try {
          return await threads.commit(ref, commit, token)
        } catch (error) {
          throw KernelError.is(error, 'VALIDATION_FAILED') ? change(error) : error
        }
      },
    },
  })
}

/** Records that are applied with changed commands. */
function applying({ records }: Store, change: (commands: readonly RecordCommand[]) => RecordCommand[]): Partial<Store> {
  return { records: { ...records, apply: (ref, commands) => records.apply(ref, change(commands)) } }
}

const cut = (id: unknown) => (typeof id === 'string' ? id.slice(0, 100) : id) as string

/** Stores that are wrong about input that the types do not allow. */
export const malformedMutants: readonly StoreMutant[] = [
  {
    wrong: 'a long id is cut',
    caught: ['a ref that is not three ids of 1 to 1000 bytes is VALIDATION_FAILED in every method'],
    ports: ({ threads }) => ({
      threads: {
        ...threads,
        get: (ref: ThreadRef) =>
          threads.get(ref && { app: cut(ref.app), user: cut(ref.user), threadId: cut(ref.threadId) }),
      },
    }),
  },
  {
    wrong: 'ids of more than 255 characters are refused',
    caught: ['ids of 1000 bytes are kept'],
    ports: ({ threads }) => ({
      threads: {
        ...threads,
        async open(ref) {
          if (ref.threadId.length > 255) throw new KernelError('VALIDATION_FAILED', 'store: expected less, got more')
          return threads.open(ref)
        },
      },
    }),
  },
  {
    wrong: 'a malformed commit fails with an error without a code',
    caught: ['a malformed commit is VALIDATION_FAILED and changes nothing'],
    ports: failingWith((error) => new TypeError(error.message)),
  },
  {
    wrong: 'the error of a malformed commit does not say what was given',
    caught: ['a malformed commit is VALIDATION_FAILED and changes nothing'],
    ports: failingWith(() => new KernelError('VALIDATION_FAILED', 'store: malformed commit')),
  },
  {
    wrong: 'a malformed commit is half written',
    caught: ['a malformed commit is VALIDATION_FAILED and changes nothing'],
    ports: ({ threads }) => ({
      threads: {
        ...threads,
        async commit(ref, commit, token) {
          const { processed, ...rest } = (commit ?? {}) as ThreadCommit
          if (processed === undefined) return threads.commit(ref, commit, token)
          await threads.commit(ref, rest, token)
          return threads.commit(ref, { processed }, token)
        },
      },
    }),
  },
  {
    wrong: 'a command that is nothing is left out',
    caught: ['a batch with a malformed command is VALIDATION_FAILED and changes nothing'],
    ports: (store) =>
      applying(store, (commands) => [...commands].filter((command) => typeof command === 'object' && command !== null)),
  },
  {
    wrong: 'a missing name of a tool call is filled in',
    caught: ['a batch with a malformed command is VALIDATION_FAILED and changes nothing'],
    ports: (store) =>
      applying(store, (commands) =>
        [...commands].map((command) =>
          command?.type === 'tool-call' && command.call
            ? { ...command, call: { ...command.call, name: command.call.name ?? '' } }
            : command,
        ),
      ),
  },
  {
    wrong: 'a command for a thread that is not there is refused unread',
    caught: ['a malformed command is VALIDATION_FAILED where it would be refused, too'],
    ports: ({ threads, records }) => ({
      records: {
        ...records,
        async apply(ref, commands) {
          if (await threads.get(ref)) return records.apply(ref, commands)
          return commands.map(() => ({ runId: 'run-1', refused: true }))
        },
      },
    }),
  },
  {
    wrong: 'text is taken for a list of events',
    caught: ['a malformed page, query, append, follow or lease is VALIDATION_FAILED and changes nothing'],
    ports: ({ runLog }) => ({
      runLog: {
        ...runLog,
        append: (ref, runId, after, events, close) => runLog.append(ref, runId, after, [...events], close),
      },
    }),
  },
  {
    wrong: 'text is taken for a list of journal entries',
    caught: [
      'a malformed page, query, append, follow or lease is VALIDATION_FAILED and changes nothing',
      'a malformed commit is VALIDATION_FAILED and changes nothing',
    ],
    ports: ({ threads, journal }) => ({
      threads: {
        ...threads,
        commit(ref, commit, token) {
          const { journal } = (commit ?? {}) as ThreadCommit
          if (typeof journal?.entries !== 'string') return threads.commit(ref, commit, token)
          return threads.commit(ref, { ...commit, journal: { ...journal, entries: [...journal.entries] } }, token)
        },
      },
      journal: { ...journal, append: (ref, runId, entries, token) => journal.append(ref, runId, [...entries], token) },
    }),
  },
  {
    wrong: 'a journal that is not one removes the journal',
    caught: ['a malformed commit is VALIDATION_FAILED and changes nothing'],
    ports: ({ threads }) => ({
      threads: {
        ...threads,
        commit(ref, commit, token) {
          const { journal } = (commit ?? {}) as ThreadCommit
          const odd = journal !== undefined && typeof journal !== 'object'
          return threads.commit(ref, odd ? { ...commit, journal: null } : commit, token)
        },
      },
    }),
  },
  {
    wrong: 'a tool call that was tried no times is taken',
    caught: ['a batch with a malformed command is VALIDATION_FAILED and changes nothing'],
    ports: (store) =>
      applying(store, (commands) =>
        [...commands].map((command) => {
          if (command?.type !== 'tool-call' || command.call?.attempts !== 0) return command
          const { attempts, ...call } = command.call
          return { ...command, call }
        }),
      ),
  },
  {
    wrong: 'no token is the token of no lease',
    caught: ['a value that is not a token is LEASE_LOST, with a lease and without'],
    ports: ({ threads, leases }) => ({
      threads: {
        ...threads,
        async commit(ref, commit, token) {
          if (token !== undefined) return threads.commit(ref, commit, token)
          const own = await leases.acquire(ref, { runId: 'nobody', ttlMs: 1 })
          const thread = await threads.commit(ref, commit, own.token)
          await leases.release(ref, own.token)
          return thread
        },
      },
    }),
  },
  {
    wrong: 'a run keeps all that its start had',
    caught: ['a record has the fields of its type alone, whatever else a command has'],
    ports: ({ records }) => {
      const starts = new Map<string, object>()
      return {
        records: {
          ...records,
          apply(ref, commands) {
            for (const command of commands) if (command.type === 'run-start') starts.set(command.run.runId, command.run)
            return records.apply(ref, commands)
          },
          runs: async (ref, page) =>
            (await records.runs(ref, page)).map((run) => ({ ...starts.get(run.runId), ...run })),
        },
      }
    },
  },
  {
    wrong: 'a checkpoint that is false in a condition clears',
    caught: ['a checkpoint is whatever JSON it was; only null clears it'],
    ports: ({ threads }) => ({
      threads: {
        ...threads,
        commit(ref, { checkpoint, ...rest }, token) {
          const kept = checkpoint === undefined ? {} : { checkpoint: checkpoint || null }
          return threads.commit(ref, { ...rest, ...kept }, token)
        },
      },
    }),
  },
  {
    wrong: 'it goes on after it was disposed',
    caught: ['a store that was disposed is STORE_CLOSED in every method'],
    ports: () => ({ [Symbol.asyncDispose]: async () => {} }),
  },
  {
    wrong: 'maintenance finds no lost runs after it was disposed',
    caught: ['a store that was disposed is STORE_CLOSED in every method'],
    ports: (store) => {
      let closed = false
      return {
        journal: { ...store.journal, lost: async (query) => (closed ? [] : store.journal.lost(query)) },
        async [Symbol.asyncDispose]() {
          closed = true
          await store[Symbol.asyncDispose]()
        },
      }
    },
  },
  {
    wrong: 'a second dispose fails',
    caught: ['a store may be disposed twice'],
    ports: (store) => {
      let disposed = 0
      return {
        async [Symbol.asyncDispose]() {
          // The third is that of the suite itself, after the clause.
          if (disposed++ === 1) throw new Error('the store is closed already')
          await store[Symbol.asyncDispose]()
        },
      }
    },
  },
]
