import { describe, expect, it } from 'vitest'
import { type Agent, JOURNAL, KernelError, type RunContext, say } from '../index.ts'
import { attempt, MemoryJournal } from '../journal/journal.fixture.ts'
import { createRunContext, recordableError, runNested, startRun } from '../run.ts'

/** An agent that records no steps. */
const stranger = (run: (ctx: RunContext) => ReturnType<Agent['run']>): Agent => ({
  name: 'stranger',
  description: '',
  run: (_input, ctx) => run(ctx),
})

/** Runs an agent on a journal. */
async function play(agent: Agent, journal: MemoryJournal, attemptNumber = 1, signal?: AbortSignal) {
  const log = attempt(journal.once, { attempt: attemptNumber })
  const prepare = (ctx: RunContext) => ctx.with(JOURNAL, log)
  const run = startRun(agent, 'Hi', { runId: 'r', canInterrupt: true, prepare, ...(signal && { signal }) })
  const events = []
  for await (const event of run.eventsWithoutThrowing()) events.push(event)
  return events
}

const again = (journal: MemoryJournal) => new MemoryJournal(journal.batches)
const refused = stranger(() => {
  throw new Error('must not run again')
})

describe('an agent that records no steps is one step', () => {
  it('which shows again what it showed, and leaves the state that it left', async () => {
    const journal = new MemoryJournal()
    const agent = stranger(async function* (ctx) {
      ctx.state.set('mood', 'good')
      yield* say(ctx, 'Hello.')
      yield { type: 'action', action: { type: 'exit', result: 42 } }
    })
    const first = await play(agent, journal)
    expect(journal.steps).toEqual(['agent'])
    expect(first.at(-1)).toMatchObject({ type: 'run-end', outcome: 'complete', output: 42 })
    expect(await play(refused, again(journal), 2)).toEqual(first)
  })

  it('whose error is kept', async () => {
    const journal = new MemoryJournal()
    const agent = stranger(async function* (ctx) {
      yield* say(ctx, 'Hello.')
      throw new KernelError('NO_CATS', 'no cats', { details: { cats: 0 } })
    })
    const first = await play(agent, journal)
    expect(first.at(-1)).toMatchObject({ outcome: 'failed', error: { code: 'NO_CATS', details: { cats: 0 } } })
    expect(await play(refused, again(journal), 2)).toEqual(first)
  })

  it('which runs again from its start if it broke off, with what it kept by ctx.perform', async () => {
    const journal = new MemoryJournal()
    const controller = new AbortController()
    let read = 0
    const agent = stranger(async function* (ctx) {
      yield* say(ctx, `read ${await ctx.perform('read', async () => ++read)}`)
      if (!controller.signal.aborted) controller.abort()
      ctx.throwIfAborted()
      yield* say(ctx, 'done')
    })
    expect((await play(agent, journal, 1, controller.signal)).at(-1)).toMatchObject({ outcome: 'cancelled' })
    expect(journal.steps).toEqual(['read#1'])
    const second = await play(agent, again(journal), 2)
    expect(second.at(-1)).toMatchObject({ outcome: 'complete', text: 'done' })
    expect([second.filter(({ type }) => type === 'message-start').length, read]).toEqual([2, 1])
  })

  it('which is not kept if it asks a person', async () => {
    const journal = new MemoryJournal()
    const agent = stranger(async function* (ctx) {
      yield* say(ctx, String(await ctx.interrupt({ reason: 'input' })))
    })
    expect((await play(agent, journal)).at(-1)).toMatchObject({ outcome: 'interrupted' })
    expect(journal.entries).toEqual([])
  })

  it('in a nested run of its own', async () => {
    const journal = new MemoryJournal()
    const inner = stranger((ctx) => say(ctx, 'Inner.'))
    const outer: Agent = {
      name: 'outer',
      description: '',
      recordsSteps: true,
      async *run(input, ctx) {
        const call = { callId: 'c1', onAction() {}, onInterrupt() {} }
        const { text } = await runNested(inner, input, ctx.derive({ step: 'tool:0:0', call }))
        yield* say(ctx, `${text} Outer.`)
      },
    }
    const first = await play(outer, journal)
    expect(journal.steps).toEqual(['tool:0:0/agent'])
    expect(await play(outer, again(journal), 2)).toEqual(first)
  })
})

describe('the error that a journal keeps', () => {
  const thrown = new DOMException('aborted', 'AbortError')

  it('is what was thrown', () => {
    const error = new KernelError('NO_CATS', 'no cats')
    expect(recordableError(createRunContext(), error)).toBe(error)
    expect(recordableError(createRunContext(), new Error('no')).toJSON()).toEqual({
      code: 'AGENT_FAILED',
      message: 'no',
    })
  })

  it('is the reason of an abort that stopped a part of the run', () => {
    const reason = new KernelError('TIMEOUT', 'too late')
    const ctx = createRunContext().derive({ signal: AbortSignal.abort(reason) })
    expect(recordableError(ctx, thrown)).toBe(reason)
  })

  it.each(['the run', 'a run inside it'])(
    'does not exist if the whole run was stopped, seen from %s',
    async (where) => {
      const controller = new AbortController()
      let kept: unknown
      const look = (ctx: RunContext) => {
        controller.abort()
        try {
          kept = recordableError(ctx, thrown)
        } catch (error) {
          kept = error
        }
      }
      const inner = stranger(async function* (ctx) {
        look(ctx)
        yield* say(ctx, 'late')
      })
      const outer = stranger(async function* (ctx) {
        const call = { callId: 'c1', onAction() {}, onInterrupt() {} }
        if (where === 'the run') look(ctx)
        else await runNested(inner, 'Hi', ctx.derive({ step: 'tool:0:0', call }))
        yield* say(ctx, 'late')
      })
      await expect(startRun(outer, 'Hi', { signal: controller.signal })).rejects.toMatchObject({ code: 'ABORTED' })
      expect(kept).toBe(thrown)
    },
  )
})
