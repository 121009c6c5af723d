import { KernelError } from '@troupe/kernel'
import { keyOf, type StoreMutant } from './store-mutant.fixture.ts'

/** Stores that are wrong about run logs. */
export const runLogMutants: readonly StoreMutant[] = [
  {
    wrong: 'append does not look at what the writer knows',
    caught: [
      'an append that does not know the last sequence is VERSION_CONFLICT and changes nothing',
      'of writers at once one wins',
    ],
    ports: ({ runLog }) => {
      const last = new Map<string, number>()
      return {
        runLog: {
          ...runLog,
          async append(ref, runId, _after, events, close) {
            const key = keyOf(ref) + runId
            const after = last.get(key) ?? 0
            last.set(key, after + events.length)
            return runLog.append(ref, runId, after, events, close)
          },
        },
      }
    },
  },
  {
    wrong: 'an append to a closed log is dropped',
    caught: ['a closed log takes nothing more'],
    ports: ({ runLog }) => {
      const closed = new Set<string>()
      return {
        runLog: {
          ...runLog,
          async append(ref, runId, after, events, close) {
            if (closed.has(keyOf(ref) + runId)) return after
            if (close) closed.add(keyOf(ref) + runId)
            return runLog.append(ref, runId, after, events, close)
          },
        },
      }
    },
  },
  {
    wrong: 'the JSON of an event is kept as a text, and comes back as one',
    caught: ['events that come with their JSON are the same as without it'],
    ports: ({ runLog }) => ({
      runLog: {
        ...runLog,
        append: (ref, runId, after, events, close, texts) => runLog.append(ref, runId, after, texts ?? events, close),
      },
    }),
  },
  {
    wrong: 'following an unknown log shows nothing instead of failing',
    caught: ['following a log that is not there is NOT_FOUND', 'a foreign thread reads as absent in every port'],
    ports: ({ runLog }) => ({
      runLog: {
        ...runLog,
        async *follow(ref, runId, options) {
          try {
            yield* runLog.follow(ref, runId, options)
          } catch (error) {
            if (!KernelError.is(error, 'NOT_FOUND')) throw error
          }
        },
      },
    }),
  },
  {
    wrong: 'a follower does not get what comes',
    caught: [
      'a live follower gets what is there, then what comes, and ends with the log',
      'every follower gets every event, in order, each once',
    ],
    ports: ({ runLog }) => ({
      runLog: { ...runLog, follow: (ref, runId, options) => runLog.follow(ref, runId, { ...options, live: false }) },
    }),
  },
  {
    wrong: 'a follower that should not wait does',
    caught: ['follow without live ends with what is there'],
    ports: ({ runLog }) => ({
      runLog: { ...runLog, follow: (ref, runId, { live: _, ...options }) => runLog.follow(ref, runId, options) },
    }),
  },
  {
    wrong: 'a follower gets each write from a queue of its own',
    caught: ['a slow follower gets what it missed in fewer batches than were written'],
    ports: ({ runLog }) => ({
      runLog: {
        ...runLog,
        async *follow(ref, runId, options) {
          for await (const batch of runLog.follow(ref, runId, options)) for (const entry of batch) yield [entry]
        },
      },
    }),
  },
  {
    wrong: 'a follower leaves a listener on the signal',
    caught: ['no listener stays on the signal when the log ends or the reader leaves'],
    ports: ({ runLog }) => ({
      runLog: {
        ...runLog,
        follow(ref, runId, options) {
          options.signal.addEventListener('abort', () => {})
          return runLog.follow(ref, runId, options)
        },
      },
    }),
  },
  {
    wrong: 'an abort is thrown at the follower',
    caught: ['an abort ends a waiting follower quietly and leaves the log alone'],
    ports: ({ runLog }) => ({
      runLog: {
        ...runLog,
        async *follow(ref, runId, options) {
          yield* runLog.follow(ref, runId, options)
          options.signal.throwIfAborted()
        },
      },
    }),
  },
  {
    wrong: 'disposing leaves followers waiting',
    caught: ['disposing the store ends live followers'],
    ports: () => ({ [Symbol.asyncDispose]: async () => {} }),
  },
]
