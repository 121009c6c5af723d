import { KernelError, type RecordCommand, type RunRecord, type ToolCallRecord } from '@troupe/kernel'
import { keyOf, type StoreMutant } from './store-mutant.fixture.ts'

/** Stores that are wrong about records and run logs. */
export const recordMutants: readonly StoreMutant[] = [
  {
    wrong: 'a batch is applied command by command',
    caught: ['a batch with a malformed command is VALIDATION_FAILED and changes nothing'],
    ports: ({ records }) => ({
      records: {
        ...records,
        async apply(ref, commands) {
          const results = []
          for (const command of commands) results.push(...(await records.apply(ref, [command])))
          return results
        },
      },
    }),
  },
  {
    wrong: 'records open the thread they are for',
    caught: ['records of a thread nobody opened are refused', 'late records are all refused and make nothing'],
    ports: ({ threads, records }) => ({
      records: {
        ...records,
        async apply(ref, commands) {
          await threads.open(ref)
          return records.apply(ref, commands)
        },
      },
    }),
  },
  {
    wrong: 'run ids are unique over all owners',
    caught: ['the same run id under two owners is two runs'],
    ports: ({ records }) => {
      const taken = new Map<string, string>()
      return {
        records: {
          ...records,
          async apply(ref, commands) {
            const results = []
            for (const command of commands) {
              const runId = command.type === 'run-start' ? command.run.runId : ''
              const holder = taken.get(runId) ?? keyOf(ref)
              if (runId) taken.set(runId, holder)
              if (holder === keyOf(ref)) results.push(...(await records.apply(ref, [command])))
              else results.push({ runId, refused: true } as const)
            }
            return results
          },
        },
      }
    },
  },
  {
    wrong: 'text is appended, whatever its offset',
    caught: ['text replaces what was there from its offset on', 'text beyond the end is refused'],
    ports: ({ records }) => ({
      records: {
        ...records,
        async apply(ref, commands) {
          const results = []
          for (const command of commands) {
            const runs = await records.runs(ref)
            const offset = command.type === 'run-text' && runs.find(({ runId }) => runId === command.runId)?.text.length
            const appended = { ...command, ...(offset !== false && { offset }) } as RecordCommand
            results.push(...(await records.apply(ref, [appended])))
          }
          return results
        },
      },
    }),
  },
  {
    wrong: 'the last finish wins',
    caught: ['the first finish wins, later ones are refused', 'of finishes at once one wins'],
    ports: ({ records }) => {
      const ends = new Map<string, Partial<RunRecord>>()
      return {
        records: {
          ...records,
          async apply(ref, commands) {
            for (const { type, ...end } of commands.filter(({ type }) => type === 'run-finish')) {
              if ('runId' in end) ends.set(end.runId, end)
            }
            const results = await records.apply(ref, commands)
            return results.map((result, i) => (commands[i]?.type === 'run-finish' ? { runId: result.runId } : result))
          },
          runs: async (ref, page) => (await records.runs(ref, page)).map((run) => ({ ...run, ...ends.get(run.runId) })),
        },
      }
    },
  },
  {
    wrong: 'the last write of a tool call wins',
    caught: [
      'a settled call is never taken back',
      'a running call of a finished run can only become unknown',
      'a settled call of a finished run stays as it is',
    ],
    ports: ({ records }) => {
      const calls = new Map<string, ToolCallRecord>()
      return {
        records: {
          ...records,
          async apply(ref, commands) {
            for (const command of commands)
              if (command.type === 'tool-call') calls.set(command.call.callId, command.call)
            const results = await records.apply(ref, commands)
            return results.map((result, i) => (commands[i]?.type === 'tool-call' ? { runId: result.runId } : result))
          },
          toolCalls: async (ref, runId) =>
            (await records.toolCalls(ref, runId)).map((call) => calls.get(call.callId) ?? call),
        },
      }
    },
  },
  {
    wrong: 'an answer that comes after the run is refused',
    caught: ['an awaiting or interrupted call of a finished run may still be answered'],
    ports: ({ records }) => ({
      records: {
        ...records,
        async apply(ref, commands) {
          const runs = await records.runs(ref)
          const late = commands.map(
            (command) =>
              command.type === 'tool-call' &&
              runs.some(({ runId, status }) => runId === command.call.runId && status !== 'generating'),
          )
          const results = await records.apply(
            ref,
            commands.filter((_, i) => !late[i]),
          )
          const rest = [...results]
          return late.map((is) => (is ? { runId: 'run-1', refused: true as const } : (rest.shift() ?? { runId: '' })))
        },
      },
    }),
  },
  {
    wrong: 'a retried span is counted again',
    caught: ['usage is the sum of spans, each counted once'],
    ports: ({ records }) => {
      let n = 0
      return {
        records: {
          ...records,
          apply: (ref, commands) =>
            records.apply(
              ref,
              commands.map((command) => (command?.type === 'usage' ? { ...command, spanId: `${n++}` } : command)),
            ),
        },
      }
    },
  },
  {
    wrong: 'model calls are sorted by their span',
    caught: ['model calls of a run come in the order of their writes, without those of other runs'],
    ports: ({ records }) => ({
      records: {
        ...records,
        async modelCalls(ref, runId) {
          const calls = await records.modelCalls(ref, runId)
          return calls.toSorted((a, b) => (a.spanId < b.spanId ? -1 : 1))
        },
      },
    }),
  },
  {
    wrong: 'a model call forgets what it was for',
    caught: ['a model call is kept with its model, tokens, finish reason and messages, the first time it is recorded'],
    ports: ({ records }) => ({
      records: {
        ...records,
        async modelCalls(ref, runId) {
          const calls = await records.modelCalls(ref, runId)
          return calls.map(({ requestId, ...call }) => call)
        },
      },
    }),
  },
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
