import type { RecordCommand } from '@troupe/kernel'
import { expect } from 'vitest'
import { advised, type StoreClauses } from './store-clauses.ts'
import { call, finish, refusals, runOf, start, statuses, textAt, used } from './store-samples.ts'

/** The same commands, written by an attempt at `run-1`. */
function by(attempt: number, ...commands: readonly RecordCommand[]): readonly RecordCommand[] {
  return commands.map((command) => ({ ...command, by: { runId: 'run-1', attempt } }))
}

/** Which attempt at a run may write its records. */
export const attemptClauses: StoreClauses = {
  ...advised(
    'Keep the highest attempt whose run-start you got with each root run, and refuse every command of a lower attempt at that root run, in the same transaction (commandEffect with `attempt`).',
    {
      'once a run has begun again, commands of the attempt before are refused': async ({ store, ref }) => {
        await store.threads.open(ref)
        const first = by(1, start('run-1'), textAt(0, 'half'), call('c', 'running'))
        expect(await refusals(store, ref, first)).toEqual([false, false, false])
        expect(await refusals(store, ref, by(2, start('run-1'), textAt(0, 'all')))).toEqual([false, false])
        const late = by(1, start('run-1'), textAt(3, '?'), call('c', 'failed'), used('s'), finish('run-1', 'failed'))
        expect(await refusals(store, ref, late)).toEqual(late.map(() => true))
        expect(await runOf(store, ref)).toMatchObject({ status: 'generating', text: 'all' })
        expect([await statuses(store, ref), await store.records.modelCalls(ref, 'run-1')]).toEqual([
          { c: 'running' },
          [],
        ])
        expect(await refusals(store, ref, by(2, call('c', 'complete'), finish('run-1')))).toEqual([false, false])
      },
      'an attempt that was replaced writes no records of nested runs either': async ({ store, ref }) => {
        await store.threads.open(ref)
        const nested = start('run-1/a', { parentRunId: 'run-1' })
        await store.records.apply(ref, by(1, start('run-1'), nested))
        await store.records.apply(ref, by(2, start('run-1')))
        const late = by(1, textAt(0, '?', 'run-1/a'), finish('run-1/a'), start('run-1/b', { parentRunId: 'run-1' }))
        expect(await refusals(store, ref, late)).toEqual([true, true, true])
        expect((await store.records.runs(ref)).map(({ runId, status }) => [runId, status])).toEqual([
          ['run-1', 'generating'],
          ['run-1/a', 'generating'],
        ])
        expect(await refusals(store, ref, by(2, nested, finish('run-1/a')))).toEqual([false, false])
      },
      'attempts at other runs, and commands without one, are not refused': async ({ store, ref }) => {
        await store.threads.open(ref)
        await store.records.apply(ref, by(7, start('run-1')))
        const other = { runId: 'run-2', attempt: 3 }
        expect(
          await refusals(store, ref, [
            { ...start('run-2'), by: other },
            { ...finish('run-2'), by: other },
          ]),
        ).toEqual([false, false])
        expect(await refusals(store, ref, [textAt(0, 'a'), finish('run-1')])).toEqual([false, false])
      },
    },
  ),
}
