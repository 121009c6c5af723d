import { type CancelMode, KernelError, type ThreadRef } from '@troupe/kernel'
import { gap, keyOf, remembering, type StoreMutant } from './store-mutant.fixture.ts'

/** Stores that are wrong about leases. */
export const leaseMutants: readonly StoreMutant[] = [
  {
    wrong: 'the thread that comes with a lease was read before the lease was taken',
    caught: ['a thread that comes with a lease is as get gives it'],
    ports: ({ leases, threads }) => ({
      leases: {
        ...leases,
        async acquire(ref, holder) {
          const thread = await threads.get(ref).catch(() => undefined)
          return { ...(await leases.acquire(ref, holder)), thread: thread ?? null }
        },
      },
    }),
  },
  {
    wrong: 'a run does not get its live lease again',
    caught: ['a run that comes again takes its live lease, and the process before has lost it'],
    ports: ({ leases }) => ({
      leases: { ...leases, acquire: (ref, { again: _, ...holder }) => leases.acquire(ref, holder) },
    }),
  },
  {
    wrong: 'a run that comes again takes any lease',
    caught: ['a run that comes again does not take the lease of another run, and gets a free one'],
    ports: ({ leases, threads }) => ({
      leases: {
        ...leases,
        async acquire(ref, holder) {
          const runId = holder?.again && (await threads.get(ref))?.runId
          return leases.acquire(ref, runId ? { ...holder, runId } : holder)
        },
      },
    }),
  },
  {
    wrong: 'a run may begin with an id that was used elsewhere',
    caught: [
      'a run cannot begin with an id that its owner has used in another thread',
      'of ten threads in which a run begins with one id one gets it',
    ],
    ports: ({ leases }) => ({
      leases: { ...leases, acquire: (ref, { begins: _, ...holder }) => leases.acquire(ref, holder) },
    }),
  },
  {
    wrong: 'a run may begin with an id that a nested run of another one has',
    caught: [
      'a run cannot begin with an id that a nested run of another one has, nor with that of a run around one',
      'of two runs that begin at once, one with an id in the other’s, one gets it',
    ],
    ports: ({ leases }) => ({
      leases: {
        ...leases,
        acquire(ref, holder) {
          const isNested = String(holder?.runId).includes('/')
          return leases.acquire(ref, isNested ? { ...holder, begins: false } : holder)
        },
      },
    }),
  },
  {
    wrong: 'a run may not begin with an id that only looks like that of a nested run',
    caught: ['a run cannot begin with an id that a nested run of another one has, nor with that of a run around one'],
    ports: ({ leases }) => {
      const begun = new Set<string>()
      return {
        leases: {
          ...leases,
          async acquire(ref, holder) {
            const { runId, begins } = holder
            const isTaken = begins && [...begun].some((id) => id !== runId && runId.startsWith(id))
            if (isTaken) throw new KernelError('RUN_ID_TAKEN', 'taken')
            const lease = await leases.acquire(ref, holder)
            if (begins) begun.add(runId)
            return lease
          },
        },
      }
    },
  },
  {
    wrong: 'every holder uses its id',
    caught: ['owners, holders that do not begin, and deleted threads do not keep an id'],
    ports: ({ leases }) => ({
      leases: { ...leases, acquire: (ref, holder) => leases.acquire(ref, { ...holder, begins: true }) },
    }),
  },
  {
    wrong: 'a lease that is held can be taken',
    caught: [
      'a held thread is THREAD_BUSY, retryable, and tells who holds it until when',
      'the holder itself cannot take its lease twice',
    ],
    ports: (store, clock) => {
      const { given, leases } = remembering(store, clock)
      return {
        leases: {
          ...leases,
          async acquire(ref, holder) {
            await leases.release(ref, given.get(keyOf(ref))?.token ?? 0)
            return leases.acquire(ref, holder)
          },
        },
      }
    },
  },
  {
    wrong: 'acquire looks and takes in two steps',
    caught: ['of ten that want a free thread one gets it', 'of ten that take over an expired lease one gets it'],
    ports: (store, clock) => {
      const { given, leases } = remembering(store, clock)
      return {
        leases: {
          ...leases,
          async acquire(ref, holder) {
            const last = given.get(keyOf(ref))
            if (last && last.expiresAt > clock.now()) return leases.acquire(ref, holder)
            await gap()
            await leases.release(ref, given.get(keyOf(ref))?.token ?? 0)
            return leases.acquire(ref, holder)
          },
        },
      }
    },
  },
  {
    wrong: 'a busy thread does not tell who holds it',
    caught: ['a held thread is THREAD_BUSY, retryable, and tells who holds it until when'],
    ports: ({ leases }) => ({
      leases: {
        ...leases,
        acquire: (ref, holder) =>
          leases.acquire(ref, holder).catch((error) => {
            throw new KernelError(KernelError.from(error).code, 'busy')
          }),
      },
    }),
  },
  {
    wrong: 'tokens are counted by thread and start again after a delete',
    caught: [
      'tokens only grow, over all threads',
      'a late commit is LEASE_LOST, also when the thread was opened and leased again',
    ],
    ports: ({ threads, leases }) => {
      const given = new Map<string, number[]>()
      return {
        leases: {
          ...leases,
          async acquire(ref, holder) {
            const tokens = given.get(keyOf(ref)) ?? []
            tokens.push((await leases.acquire(ref, holder)).token)
            given.set(keyOf(ref), tokens)
            return { token: tokens.length }
          },
          renew: (ref, token, ttlMs) => leases.renew(ref, given.get(keyOf(ref))?.[token - 1] ?? 0, ttlMs),
          release: (ref, token) => leases.release(ref, given.get(keyOf(ref))?.[token - 1] ?? 0),
        },
        threads: {
          ...threads,
          commit: (ref, commit, token) => threads.commit(ref, commit, given.get(keyOf(ref))?.[token - 1] ?? 0),
          delete(ref) {
            given.delete(keyOf(ref))
            return threads.delete(ref)
          },
        },
      }
    },
  },
  {
    wrong: 'taking over leaves the former run open',
    caught: [
      'taking over finishes the former run as failed with LEASE_LOST',
      'taking over finishes nested runs at every depth',
    ],
    ports: (store, clock) => {
      const { given, leases } = remembering(store, clock)
      return {
        leases: {
          ...leases,
          async acquire(ref, holder) {
            const last = given.get(keyOf(ref))
            if (last && last.expiresAt <= clock.now()) await leases.release(ref, last.token)
            return leases.acquire(ref, holder)
          },
        },
      }
    },
  },
  {
    wrong: 'taking over leaves calls running',
    caught: ['taking over leaves no call running: its outcome is unknown, and a late result is refused'],
    ports: ({ records }) => ({
      records: {
        ...records,
        async toolCalls(ref, runId) {
          const calls = await records.toolCalls(ref, runId)
          return calls.map((call) => (call.status === 'unknown' ? { ...call, status: 'running' } : call))
        },
      },
    }),
  },
  {
    wrong: 'taking over forgets nested runs',
    caught: ['taking over finishes nested runs at every depth'],
    ports: ({ records }) => {
      const parents = new Map<string, string>()
      return {
        records: {
          ...records,
          apply: (ref, commands) =>
            records.apply(
              ref,
              commands.map((command) => {
                if (command?.type !== 'run-start') return command
                const { parentRunId, ...run } = command.run ?? {}
                if (parentRunId !== undefined) parents.set(run.runId, parentRunId)
                return { ...command, run }
              }),
            ),
          runs: async (ref, page) =>
            (await records.runs(ref, page)).map((run) => {
              const parentRunId = parents.get(run.runId)
              return parentRunId === undefined ? run : { ...run, parentRunId }
            }),
        },
      }
    },
  },
  {
    wrong: 'taking over finishes every run of the thread',
    caught: ['taking over leaves other runs and finished ones alone'],
    ports: ({ records, leases }) => ({
      leases: {
        ...leases,
        async acquire(ref, holder) {
          const lease = await leases.acquire(ref, holder)
          const runs = await records.runs(ref)
          const ends = runs.map(({ runId }) => ({ type: 'run-finish', runId, status: 'failed', endedAt: 0 }) as const)
          await records.apply(ref, ends)
          return lease
        },
      },
    }),
  },
  {
    wrong: 'taking over finishes a run whose end is in the thread',
    caught: ['taking over leaves a run alone whose end is in the thread, so that its record may come late'],
    ports: ({ records, threads, leases }) => ({
      leases: {
        ...leases,
        async acquire(ref, holder) {
          const lease = await leases.acquire(ref, holder)
          const [last] = await threads.messages(ref, { newestFirst: true, limit: 1, after: Number.MAX_SAFE_INTEGER })
          if (last && last.runId !== holder.runId) {
            await records.apply(ref, [{ type: 'run-finish', runId: last.runId, status: 'failed', endedAt: 0 }])
          }
          return lease
        },
      },
    }),
  },
  {
    wrong: 'taking over finishes the run also if it goes on',
    caught: ['a run that takes its own expired lease again goes on: its records stay open, and its old token is lost'],
    ports: ({ records, leases }) => ({
      leases: {
        ...leases,
        async acquire(ref, holder) {
          const lease = await leases.acquire(ref, holder)
          await records.apply(ref, [{ type: 'run-finish', runId: holder.runId, status: 'failed', endedAt: 0 }])
          return lease
        },
      },
    }),
  },
  {
    wrong: 'a run gets its old lease back',
    caught: ['a run that takes its own expired lease again goes on: its records stay open, and its old token is lost'],
    ports: (store, clock) => {
      const { given, leases } = remembering(store, clock)
      return {
        leases: {
          ...leases,
          async acquire(ref, holder) {
            const last = given.get(keyOf(ref))
            if (last?.runId !== holder.runId) return leases.acquire(ref, holder)
            await leases.renew(ref, last.token, holder.ttlMs)
            return { token: last.token }
          },
        },
      }
    },
  },
  {
    wrong: 'a lost lease can be renewed',
    caught: ['renewing a lease that is taken, released or never was is LEASE_LOST'],
    ports: ({ leases }) => ({
      leases: {
        ...leases,
        renew: (ref, token, ttlMs) =>
          leases.renew(ref, token, ttlMs).catch((error) => {
            if (KernelError.is(error, 'LEASE_LOST')) return {}
            throw error
          }),
      },
    }),
  },
  {
    wrong: 'renewals that come together are looked up by token alone',
    caught: ['leases that are renewed at once are each renewed for their own thread and owner'],
    ports: ({ leases }) => {
      const refs = new Map<number, ThreadRef>()
      let busy = 0
      return {
        leases: {
          ...leases,
          async acquire(ref, holder) {
            const lease = await leases.acquire(ref, holder)
            refs.set(lease.token, ref)
            return lease
          },
          async renew(ref, token, ttlMs) {
            busy++
            await gap()
            const together = busy > 1
            const renewed = leases.renew((together && refs.get(token)) || ref, token, ttlMs)
            return renewed.finally(() => busy--)
          },
        },
      }
    },
  },
  {
    wrong: 'a renewal does not move the end',
    caught: ['a renewed lease counts from the renewal'],
    ports: (store, clock) => {
      const { given, leases } = remembering(store, clock)
      return {
        leases: {
          ...leases,
          renew(ref, token, ttlMs) {
            const left = (given.get(keyOf(ref))?.expiresAt ?? 0) - clock.now()
            return leases.renew(ref, token, left > 0 && ttlMs > 0 ? left : ttlMs)
          },
        },
      }
    },
  },
  {
    wrong: 'anybody can release',
    caught: ['release with a wrong token changes nothing', 'release frees the thread, twice does no harm'],
    ports: (store, clock) => {
      const { given, leases } = remembering(store, clock)
      return {
        leases: {
          ...leases,
          release: (ref, token) => leases.release(ref, given.get(keyOf(ref))?.token ?? token),
        },
      }
    },
  },
  {
    wrong: 'the last cancel wins, hard or soft',
    caught: ['a harder cancel replaces a softer one, never the reverse'],
    ports: ({ leases }) => {
      let asked: CancelMode | undefined
      return {
        leases: {
          ...leases,
          async requestCancel(ref, request) {
            const taken = await leases.requestCancel(ref, request)
            if (taken) asked = request.mode ?? 'now'
            return taken
          },
          async renew(ref, token, ttlMs) {
            const { cancel } = await leases.renew(ref, token, ttlMs)
            return cancel && asked ? { cancel: asked } : {}
          },
        },
      }
    },
  },
  {
    wrong: 'a cancel stays on the thread for the next run',
    caught: ['a cancel does not reach the next holder'],
    ports: ({ leases }) => {
      let asked: CancelMode | undefined
      return {
        leases: {
          ...leases,
          async renew(ref, token, ttlMs) {
            asked = (await leases.renew(ref, token, ttlMs)).cancel ?? asked
            return asked ? { cancel: asked } : {}
          },
          async requestCancel(ref, request) {
            const taken = await leases.requestCancel(ref, request)
            if (taken) asked = request.mode ?? 'now'
            return taken
          },
        },
      }
    },
  },
  {
    wrong: 'a cancel hits whatever runs',
    caught: ['a cancel meant for another run is false and does nothing'],
    ports: ({ leases }) => ({
      leases: { ...leases, requestCancel: (ref, { runId: _, ...request }) => leases.requestCancel(ref, request) },
    }),
  },
  {
    wrong: 'a cancel is forgotten when the process of its run is gone',
    caught: [
      'a run that takes its own expired lease again gets the cancel that was asked of it',
      'a cancel that came before the journal counts too',
      'a cancel is kept while others hold the thread, and does not reach them',
    ],
    ports: ({ leases }) => ({
      leases: {
        ...leases,
        async acquire(ref, holder) {
          const { token } = await leases.acquire(ref, holder)
          return { token }
        },
      },
    }),
  },
  {
    wrong: 'a cancel stays with the id of its run',
    caught: ['a cancel goes with the journal'],
    ports: ({ leases }) => {
      const asked = new Map<string, CancelMode>()
      return {
        leases: {
          ...leases,
          async acquire(ref, holder) {
            const { token, cancel = asked.get(holder.runId) } = await leases.acquire(ref, holder)
            return { token, ...(cancel && { cancel }) }
          },
          async requestCancel(ref, request) {
            const taken = await leases.requestCancel(ref, request)
            if (taken) asked.set('run-1', request.mode ?? 'now')
            return taken
          },
        },
      }
    },
  },
  {
    wrong: 'taking over calls a run failed that was asked to stop',
    caught: ['taking over finishes a former run that was asked to stop as cancelled'],
    ports: ({ records }) => ({
      records: {
        ...records,
        runs: async (ref, page) =>
          (await records.runs(ref, page)).map((run) =>
            run.error?.code === 'ABORTED'
              ? { ...run, status: 'failed', error: { ...run.error, code: 'LEASE_LOST' } }
              : run,
          ),
      },
    }),
  },
]
