import { readFile } from 'node:fs/promises'
import { expect, it } from 'vitest'
import { runner } from '../../packages/flow/src/index.ts'
import { type Agent, JOURNAL, type Journal, say } from '../../packages/kernel/src/index.ts'
import { memoryStore } from '../../packages/kernel/src/memory-store.ts'
import { runNested, startRun } from '../../packages/kernel/src/run.ts'
import { takeFaults } from './journal-every-run.ts'
import { journalEveryRun } from './journal-every-run-plugin.ts'

/** Runs an agent that asks the journal of its run for steps. */
function onJournal(use: (journal: Journal, runId: string) => Promise<unknown>): PromiseLike<unknown> {
  const agent: Agent = {
    name: 'asking',
    description: '',
    recordsSteps: true,
    async *run(_input, ctx) {
      const journal = ctx.get(JOURNAL)
      if (journal) await use(journal, ctx.runId)
      yield* say(ctx, journal ? 'Done.' : 'There is no journal.')
    },
  }
  return startRun(agent, 'Hi').then(({ text }) => expect(text).toBe('Done.'))
}

const work = async () => 1

it('every root run has a journal, and a nested run has that of its root', async () => {
  const found: (Journal | undefined)[] = []
  const inner: Agent = {
    name: 'inner',
    description: '',
    recordsSteps: true,
    run(_input, ctx) {
      found.push(ctx.get(JOURNAL))
      return say(ctx, 'Hi')
    },
  }
  const outer: Agent = {
    ...inner,
    async *run(input, ctx) {
      yield* inner.run(input, ctx)
      const call = { callId: 'c1', onAction() {}, onInterrupt() {} }
      await runNested(inner, input, ctx.derive({ step: 'tool:0:0', call }))
    },
  }
  await startRun(outer, 'Hi')
  expect([found.length, new Set(found).size, found[0] !== undefined]).toEqual([2, 1, true])
})

it('leaves the journal that a run already has', async () => {
  const own: Journal = { perform: (_step, work) => work() }
  let found: Journal | undefined
  const agent: Agent = {
    name: 'own',
    description: '',
    recordsSteps: true,
    run(_input, ctx) {
      found = ctx.get(JOURNAL)
      return say(ctx, 'Hi')
    },
  }
  await startRun(agent, 'Hi', { prepare: (ctx) => ctx.with(JOURNAL, own) })
  expect(found).toBe(own)
})

it('notices a step that is asked for twice', async () => {
  await onJournal(async (journal, runId) => {
    await journal.perform(`${runId}/a`, work)
    await journal.perform(`${runId}/a`, work)
  })
  expect(takeFaults()).toEqual([expect.stringContaining('/a was asked for twice')])
})

it.each(['step', 'turn'] as const)(
  'watches the journal of a run on a thread that is stored by %s',
  async (durability) => {
    const agent: Agent = {
      name: 'asking',
      description: '',
      recordsSteps: true,
      async *run(_input, ctx) {
        for (let i = 0; i < 2; i++) await ctx.get(JOURNAL)?.perform(`${ctx.runId}/a`, work)
        yield* say(ctx, 'Done.')
      },
    }
    const session = { app: 'app', user: 'ann', threadId: 't1' }
    await runner({ agent, store: memoryStore(), durability }).query('Hi', { session })
    expect(takeFaults()).toEqual([expect.stringContaining('/a was asked for twice')])
  },
)

it('notices a step that is not named after its run', async () => {
  await onJournal((journal) => journal.perform('model:0', work))
  expect(takeFaults()).toEqual([expect.stringContaining('the step model:0 is not named after its run')])
})

it('notices a record that is not JSON, and gives its JSON', async () => {
  await onJournal(async (journal, runId) => {
    const record = await journal.perform(`${runId}/a`, async () => ({ at: new Date(0) }) as never)
    expect(record).toEqual({ at: '1970-01-01T00:00:00.000Z' })
  })
  expect(takeFaults()).toEqual([expect.stringContaining('/a is not JSON at .at')])
})

it.each([
  ['kernel/src/run/start-run.ts', 'rootContext(core', 'journalled(rootContext(core'],
  ['flow/src/runner/thread-work.ts', 'journal.steps', 'watched(wrap(journal.steps)'],
])('fails if %s does not give a run its context where the plugin looks for it', async (path, found, becomes) => {
  const file = new URL(`../../packages/${path}`, import.meta.url).pathname
  const code = await readFile(file, 'utf8')
  const { transform } = journalEveryRun() as { transform(code: string, id: string): string | undefined }
  expect(transform(code, file)).toContain(becomes)
  expect(() => transform(code.replaceAll(found, 'somethingElse'), file)).toThrow('expected once')
  expect(transform(code, `${file}.other`)).toBeUndefined()
})
