import type { LogEntry } from '@troupe/kernel'
import { keyOf, type StoreMutant } from './store-mutant.fixture.ts'

/** Stores that compact or prune run logs in a wrong way. */
export const runLogUpkeepMutants: readonly StoreMutant[] = [
  {
    wrong: 'a compacted log is numbered from 1',
    caught: [
      'a compacted log has the entries in place of its events, from every cursor',
      'a compacted log may be long, and one of its entries too',
    ],
    ports: ({ runLog }) => {
      const compacted = new Map<string, readonly LogEntry[]>()
      return {
        runLog: {
          ...runLog,
          async compact(ref, runId, entries) {
            const done = await runLog.compact(ref, runId, entries)
            if (done) compacted.set(keyOf(ref) + runId, entries)
            return done
          },
          async *follow(ref, runId, options) {
            const entries = compacted.get(keyOf(ref) + runId)
            if (!entries) yield* runLog.follow(ref, runId, options)
            else yield entries.map(({ event }, i) => ({ seq: i + 1, event })).slice(options.after)
          },
        },
      }
    },
  },
  {
    wrong: 'a follower inside an entry does not get it',
    caught: [
      'a compacted log has the entries in place of its events, from every cursor',
      'a follower in the middle of a log that is compacted goes on from where it is',
    ],
    ports: ({ runLog }) => {
      const firsts = new Map<number, number>()
      return {
        runLog: {
          ...runLog,
          compact(ref, runId, entries) {
            for (const [i, { seq }] of entries.entries()) firsts.set(seq, (entries[i - 1]?.seq ?? 0) + 1)
            return runLog.compact(ref, runId, entries)
          },
          async *follow(ref, runId, options) {
            let after = options.after ?? 0
            for await (const batch of runLog.follow(ref, runId, options)) {
              const whole = batch.filter(({ seq }) => (firsts.get(seq) ?? seq) > after)
              after = batch.at(-1)?.seq ?? after
              if (whole.length > 0) yield whole
            }
          },
        },
      }
    },
  },
  {
    wrong: 'a log is compacted again',
    caught: ['a log is compacted once, also by several at once'],
    ports: ({ runLog }) => ({
      runLog: {
        ...runLog,
        async compact(ref, runId, entries) {
          await runLog.compact(ref, runId, entries)
          return true
        },
      },
    }),
  },
  {
    wrong: 'a log that is open is closed and compacted',
    caught: ['a log that is open, ends elsewhere or does not exist is not compacted'],
    ports: ({ runLog }) => ({
      runLog: {
        ...runLog,
        async compact(ref, runId, entries) {
          await runLog.append(ref, runId, entries.at(-1)?.seq ?? 0, [], true).catch(() => undefined)
          return runLog.compact(ref, runId, entries)
        },
      },
    }),
  },
  {
    wrong: 'prune does not look at the limit',
    caught: ['prune deletes logs that were closed before a time, oldest first, up to a limit'],
    ports: ({ runLog }) => ({
      runLog: { ...runLog, prune: (query) => runLog.prune({ ...query, limit: 1_000 }) },
    }),
  },
  {
    wrong: 'prune does not look at the apps',
    caught: ['prune leaves the logs of other apps, if it is for some'],
    ports: ({ runLog }) => ({
      runLog: { ...runLog, prune: ({ apps: _, ...query }) => runLog.prune(query) },
    }),
  },
  {
    wrong: 'prune goes by the time at which a log was begun',
    caught: ['prune deletes logs that were closed before a time, oldest first, up to a limit'],
    ports: ({ runLog }, clock) => {
      const begun = new Map<string, number>()
      const at = (key: string) => begun.get(key) ?? begun.set(key, clock.now()).get(key) ?? 0
      return {
        runLog: {
          ...runLog,
          append(ref, runId, after, events, close) {
            at(keyOf(ref) + runId)
            return runLog.append(ref, runId, after, events, close)
          },
          prune: (query) =>
            runLog.prune([...begun.values()].some((time) => time < query.before) ? { ...query, before: 1e15 } : query),
        },
      }
    },
  },
  {
    wrong: 'prune leaves open logs for ever',
    caught: ['prune deletes an open log if nobody writes it any more', 'prune ends the followers of what it deletes'],
    ports: ({ runLog }) => {
      let open = 0
      return {
        runLog: {
          ...runLog,
          append(ref, runId, after, events, close) {
            open += close ? -1 : after === 0 ? 1 : 0
            return runLog.append(ref, runId, after, events, close)
          },
          prune: async (query) => (open > 0 ? 0 : runLog.prune(query)),
        },
      }
    },
  },
  {
    wrong: 'prune deletes the log of a run that can be continued',
    caught: ['prune deletes an open log if nobody writes it any more'],
    ports: ({ runLog, threads }) => ({
      threads: {
        ...threads,
        commit: (ref, { journal: _, ...commit }, token) => threads.commit(ref, commit, token),
      },
      runLog,
    }),
  },
]
