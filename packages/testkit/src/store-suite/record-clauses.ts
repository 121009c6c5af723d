import type { ToolCallRecord } from '@troupe/kernel'
import { expect } from 'vitest'
import { advised, type StoreClauses } from './store-clauses.ts'
import {
  anna,
  ben,
  call,
  codeOf,
  finish,
  hold,
  refusals,
  runOf,
  start,
  statuses,
  textAt,
  upTo,
  used,
  withRun,
} from './store-samples.ts'

/** Runs as rows. */
export const recordClauses: StoreClauses = {
  ...advised(
    'Refuse ({ refused: true }, no error) what belongs to no open thread or to a run of another thread; number runs by thread without gaps, in one step.',
    {
      'a thread without records has no runs, no calls and no usage': async ({ store, ref }) => {
        for (const open of [false, true]) {
          if (open) await store.threads.open(ref)
          expect(await store.records.runs(ref)).toEqual([])
          expect(await store.records.toolCalls(ref, 'run-1')).toEqual([])
          expect(await store.records.modelCalls(ref, 'run-1')).toEqual([])
          expect(await store.records.usage(ref)).toEqual({ inputTokens: 0, outputTokens: 0 })
        }
      },
      'records of a thread nobody opened are refused': async ({ store, ref }) => {
        expect(await store.records.apply(ref, [start('run-1')])).toEqual([{ runId: 'run-1', refused: true }])
        await store.threads.open(ref)
        expect(await store.records.runs(ref)).toEqual([])
      },
      'a run starts as generating, without text, with the next sequence': async ({ store, ref }) => {
        await store.threads.open(ref)
        const results = await store.records.apply(ref, [start('run-1'), start('run-2', { parentRunId: 'run-1' })])
        expect(results).toEqual([
          { runId: 'run-1', seq: 1 },
          { runId: 'run-2', seq: 2 },
        ])
        const row = { agentName: 'agent', startedAt: 1, status: 'generating', text: '' }
        expect(await store.records.runs(ref)).toEqual([
          { ...row, runId: 'run-1', seq: 1 },
          { ...row, runId: 'run-2', seq: 2, parentRunId: 'run-1' },
        ])
      },
      'starting a run again that failed, and that its thread names as unfinished, opens its record': async ({
        store,
        ref,
      }) => {
        const token = await hold(store, ref)
        await store.threads.commit(ref, { journal: { runId: 'run-1', entries: ['asked'] } }, token)
        const row = { runId: 'run-1', seq: 1, agentName: 'agent', startedAt: 1 }
        for (const status of ['failed', 'cancelled'] as const) {
          await store.records.apply(ref, [start('run-1'), textAt(0, 'half'), finish('run-1', status)])
          expect(await store.records.apply(ref, [start('run-1')])).toEqual([{ runId: 'run-1', seq: 1 }])
          expect(await store.records.runs(ref)).toEqual([{ ...row, status: 'generating', text: 'half' }])
        }
        expect(await refusals(store, ref, [textAt(0, 'whole'), finish('run-1')])).toEqual([false, false])
        await store.records.apply(ref, [start('run-1')])
        expect(await runOf(store, ref)).toMatchObject({ status: 'complete', text: 'whole' })
      },
      'starting a failed run again that its thread does not name as unfinished changes nothing': async ({
        store,
        ref,
      }) => {
        const token = await hold(store, ref)
        await store.records.apply(ref, [start('run-1'), finish('run-1', 'failed')])
        await store.threads.commit(ref, { journal: { runId: 'run-2', entries: ['asked'] } }, token)
        await store.records.apply(ref, [start('run-1')])
        expect((await runOf(store, ref))?.status).toBe('failed')
      },
      'starting a run again tells its sequence and changes nothing': async ({ store, ref }) => {
        await withRun(store, ref)
        await store.records.apply(ref, [start('run-2'), textAt(0, 'hello'), finish('run-1')])
        const before = await store.records.runs(ref)
        expect(await store.records.apply(ref, [start('run-1', { agentName: 'other' })])).toEqual([
          { runId: 'run-1', seq: 1 },
        ])
        expect(await store.records.runs(ref)).toEqual(before)
      },
      'a run id of another thread of the owner is refused': async ({ store, ref }) => {
        await withRun(store, ref)
        await store.threads.open(anna('t2'))
        expect(await refusals(store, anna('t2'), [start('run-1'), start('run-2')])).toEqual([true, false])
        expect((await store.records.runs(anna('t2'))).map(({ runId, seq }) => [runId, seq])).toEqual([['run-2', 1]])
      },
      'runs started at once get a gapless sequence, the same run one': async ({ store, ref }) => {
        await store.threads.open(ref)
        const ids = upTo(20).map((n) => `run-${n}`)
        const results = await Promise.all([...ids, 'run-1', 'run-1'].map((id) => store.records.apply(ref, [start(id)])))
        const seqs = results.map(([result]) => result?.seq ?? 0)
        expect(new Set(seqs)).toEqual(new Set(upTo(20)))
        expect((await store.records.runs(ref)).map(({ seq }) => seq)).toEqual(upTo(20))
      },
      'runs come in pages, newest first if asked': async ({ store, ref }) => {
        await store.threads.open(ref)
        await store.records.apply(
          ref,
          upTo(5).map((n) => start(`run-${n}`, { startedAt: 10 - n })),
        )
        const seqs = async (page: object) => (await store.records.runs(ref, page)).map(({ seq }) => seq)
        expect(await seqs({ after: 1, limit: 2 })).toEqual([2, 3])
        expect(await seqs({ newestFirst: true, limit: 2 })).toEqual([5, 4])
        expect(await seqs({ newestFirst: true, after: 3 })).toEqual([2, 1])
      },
    },
  ),
  ...advised(
    'Write only while the status is `generating`, in the statement that finishes the run: the first finish wins, everything later is refused.',
    {
      'a finish is kept with its usage and error': async ({ store, ref }) => {
        await withRun(store, ref)
        const error = { code: 'MODEL_FAILED', message: 'model: no answer', retryable: true, details: { attempt: 2 } }
        const usage = { inputTokens: 3, outputTokens: 4, reasoningTokens: 0 }
        await store.records.apply(ref, [
          textAt(0, 'half'),
          { type: 'run-finish', runId: 'run-1', status: 'failed', usage, error, endedAt: 9 },
        ])
        expect(await runOf(store, ref)).toMatchObject({
          seq: 1,
          status: 'failed',
          text: 'half',
          usage,
          error,
          endedAt: 9,
        })
      },
      'a run ends complete, failed, cancelled or interrupted, at any time, 0 too': async ({ store, ref }) => {
        await store.threads.open(ref)
        const outcomes = ['complete', 'failed', 'cancelled', 'interrupted'] as const
        for (const [endedAt, status] of outcomes.entries()) {
          const end = { type: 'run-finish', runId: status, status, endedAt } as const
          expect(await refusals(store, ref, [start(status, { startedAt: 0 }), end])).toEqual([false, false])
        }
        const ends = (await store.records.runs(ref)).map(({ status, endedAt }) => [endedAt, status])
        expect(ends).toEqual([...outcomes.entries()])
      },
      'the first finish wins, later ones are refused': async ({ store, ref }) => {
        await withRun(store, ref)
        expect(await refusals(store, ref, [finish('run-1', 'interrupted')])).toEqual([false])
        expect(await refusals(store, ref, [finish('run-1', 'complete'), finish('run-1', 'interrupted')])).toEqual([
          true,
          true,
        ])
        expect((await runOf(store, ref))?.status).toBe('interrupted')
      },
      'of finishes at once one wins': async ({ store, ref }) => {
        await withRun(store, ref)
        const refused = await Promise.all(
          upTo(10).map((n) =>
            refusals(store, ref, [{ type: 'run-finish', runId: 'run-1', status: 'complete', endedAt: n }]),
          ),
        )
        expect(refused.flat().filter((is) => !is)).toHaveLength(1)
        expect((await runOf(store, ref))?.endedAt).toBe(refused.flat().indexOf(false) + 1)
      },
      'text and usage of a finished run are refused and change nothing': async ({ store, ref }) => {
        await withRun(store, ref)
        await store.records.apply(ref, [textAt(0, 'done'), used('s1'), finish('run-1')])
        expect(await refusals(store, ref, [textAt(4, '!'), used('s2')])).toEqual([true, true])
        expect((await runOf(store, ref))?.text).toBe('done')
        expect(await store.records.usage(ref)).toEqual({ inputTokens: 10, outputTokens: 1 })
      },
      'whatever is written of an unknown run is refused': async ({ store, ref }) => {
        await withRun(store, ref)
        const commands = [
          textAt(0, 'x', 'run-9'),
          finish('run-9'),
          used('s', {}, 'run-9'),
          call('c', 'running', { runId: 'run-9' }),
        ]
        expect(await refusals(store, ref, commands)).toEqual([true, true, true, true])
        expect(await store.records.runs(ref)).toHaveLength(1)
        expect(await store.records.usage(ref)).toEqual({ inputTokens: 0, outputTokens: 0 })
      },
    },
  ),
  ...advised('Check all commands first, then apply them in order in one transaction; records need no lease.', {
    'commands take effect in order within one batch': async ({ store, ref }) => {
      await store.threads.open(ref)
      const commands = [textAt(0, 'early'), start('run-1'), textAt(0, 'ok'), finish('run-1'), textAt(2, 'late')]
      expect(await refusals(store, ref, commands)).toEqual([true, false, false, false, true])
      expect(await runOf(store, ref)).toMatchObject({ text: 'ok', status: 'complete' })
    },
    'an empty batch is nothing': async ({ store, ref }) => {
      await store.threads.open(ref)
      expect(await store.records.apply(ref, [])).toEqual([])
    },
    'records need no lease': async ({ store, ref }) => {
      const token = await hold(store, ref)
      await store.leases.release(ref, token)
      expect(await refusals(store, ref, [start('run-1'), textAt(0, 'x'), finish('run-1')])).toEqual([
        false,
        false,
        false,
      ])
    },
  }),
  ...advised(
    'Read open runs of all owners oldest first, copy what comes in, and check app, user, threadId and runId before anything else.',
    {
      'open finds generating runs of all owners started before, oldest first, at most limit': async ({
        store,
        ref,
      }) => {
        await store.threads.open(ref)
        await store.threads.open(ben())
        await store.records.apply(ref, [
          start('late', { startedAt: 30 }),
          start('done', { startedAt: 1 }),
          start('nested', { startedAt: 20, parentRunId: 'late' }),
          finish('done'),
        ])
        await store.records.apply(ben(), [start('foreign', { startedAt: 10 })])
        const open = async (before: number, limit = 10) =>
          (await store.records.open({ before, limit })).map(({ runId, ref }) => [runId, ref.user])
        const all = [
          ['foreign', 'ben'],
          ['nested', 'anna'],
          ['late', 'anna'],
        ]
        expect(await open(31)).toEqual(all)
        expect(await open(30)).toEqual(all.slice(0, 2))
        expect(await open(31, 1)).toEqual(all.slice(0, 1))
        const [first] = await store.records.open({ before: 31, limit: 1 })
        expect(first).toEqual({ ...(await runOf(store, ben(), 'foreign')), ref: ben() })
      },
      'what a caller changes in its own commands does not reach the store': async ({ store, ref }) => {
        await store.threads.open(ref)
        const run = { runId: 'run-1', agentName: 'agent', startedAt: 1 }
        const usage = { inputTokens: 1, outputTokens: 1 }
        await store.records.apply(ref, [
          { type: 'run-start', run },
          { type: 'usage', runId: 'run-1', spanId: 's', model: 'm', usage },
        ])
        const row = {
          callId: 'c',
          runId: 'run-1',
          messageId: 'm',
          name: 'n',
          arguments: '',
          status: 'running',
          startedAt: 1,
        }
        await store.records.apply(ref, [{ type: 'tool-call', call: row as ToolCallRecord }])
        run.agentName = 'changed'
        usage.inputTokens = 100
        row.status = 'complete'
        expect((await runOf(store, ref))?.agentName).toBe('agent')
        expect(await statuses(store, ref)).toEqual({ c: 'running' })
        expect((await store.records.usage(ref)).inputTokens).toBe(1)
      },
      'records without an owner, thread or run id are VALIDATION_FAILED': async ({ store, ref }) => {
        for (const bad of [{ app: '' }, { user: '' }, { threadId: '' }]) {
          const wrong = { ...ref, ...bad }
          expect(await codeOf(store.records.apply(wrong, []))).toBe('VALIDATION_FAILED')
          expect(await codeOf(store.records.runs(wrong))).toBe('VALIDATION_FAILED')
          expect(await codeOf(store.records.toolCalls(wrong, 'run-1'))).toBe('VALIDATION_FAILED')
          expect(await codeOf(store.records.modelCalls(wrong, 'run-1'))).toBe('VALIDATION_FAILED')
          expect(await codeOf(store.records.usage(wrong))).toBe('VALIDATION_FAILED')
        }
        expect(await codeOf(store.records.toolCalls(ref, ''))).toBe('VALIDATION_FAILED')
      },
    },
  ),
}
