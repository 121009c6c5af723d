import type { RecordCommand, RunRecord, ToolCallRecord } from '@troupe/kernel'
import { runIdOf } from '@troupe/kernel/store'
import { keyOf, type StoreMutant } from './store-mutant.fixture.ts'

/** Stores that are wrong about records. */
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
    wrong: 'a run that is continued stays failed',
    caught: ['starting a run again that failed, and that its thread names as unfinished, opens its record'],
    ports: ({ records }) => ({
      records: {
        ...records,
        async apply(ref, commands) {
          const known = new Map((await records.runs(ref)).map(({ runId, seq }) => [runId, seq]))
          const results = []
          for (const command of commands) {
            const seq = command?.type === 'run-start' ? known.get(command.run?.runId) : undefined
            if (seq === undefined) results.push(...(await records.apply(ref, [command])))
            else results.push({ runId: runIdOf(command), seq })
          }
          return results
        },
      },
    }),
  },
  {
    wrong: 'starting any failed run again opens its record',
    caught: ['starting a failed run again that its thread does not name as unfinished changes nothing'],
    ports: ({ records }) => {
      const again = new Set<string>()
      return {
        records: {
          ...records,
          async apply(ref, commands) {
            const failed = (await records.runs(ref)).filter(({ status }) => status === 'failed')
            for (const command of commands) {
              const runId = command?.type === 'run-start' ? command.run?.runId : undefined
              if (failed.some((run) => run.runId === runId)) again.add(runId as string)
            }
            return records.apply(ref, commands)
          },
          runs: async (ref, page) =>
            (await records.runs(ref, page)).map((run) =>
              again.has(run.runId) && run.status === 'failed' ? { ...run, status: 'generating' } : run,
            ),
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
    wrong: 'a tool call forgets how often it was tried',
    caught: ['a call comes back as it was written', 'a call written again is the same row'],
    ports: ({ records }) => ({
      records: {
        ...records,
        async toolCalls(ref, runId) {
          const calls = await records.toolCalls(ref, runId)
          return calls.map(({ attempts, ...call }) => call)
        },
      },
    }),
  },
]
