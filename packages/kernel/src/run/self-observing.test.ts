import { beforeEach, describe, expect, test } from 'vitest'
import type { Agent, AgentEvent } from '../index.ts'
import { KernelError } from '../index.ts'
import { observe, runNested, startRun } from '../run.ts'
import { collect, noUnhandledRejection, raise } from '../stream/stream.fixture.ts'
import { callOf, input, quiet, talker } from './run.fixture.ts'

beforeEach(noUnhandledRejection)

describe('an agent that observes itself', () => {
  const self = (run: Agent['run']): Agent => ({ name: 'self', description: 'self', observesItself: true, run })

  test('and says nothing at all is complete', async () => {
    const run = startRun({ ...quiet('self', async () => undefined), observesItself: true }, input)
    expect((await collect(run)).map(({ type }) => type)).toEqual(['run-start', 'run-end'])
    expect(await run).toMatchObject({ outcome: 'complete', text: '' })
  })

  test('cannot write through its context after the run', async () => {
    const seen: AgentEvent[] = []
    const onPart = (_: unknown, event: AgentEvent) => void seen.push(event)
    const late: (() => void | Promise<void>)[] = []
    const agent = self((start, ctx) => {
      late.push(() => ctx.emit('late', 1))
      return observe(talker('child'), start, ctx)
    })
    await startRun(agent, input, { callbacks: [{ name: 'parts', run: { onPart } }] })
    const before = seen.length
    for (const emit of late) await expect(emit()).rejects.toMatchObject({ code: 'ABORTED' })
    expect([late.length, seen.length]).toEqual([1, before])
  })

  test('has its own word on how it ended', async () => {
    const child = quiet('child', async () => {
      throw new RangeError('first')
    })
    const agent = self(async function* (start, ctx) {
      for await (const _ of observe(child, start, ctx));
      yield { type: 'agent-end', outcome: 'failed', error: { code: 'MINE', message: 'mine: second' } }
    })
    await expect(startRun(agent, input)).rejects.toMatchObject({ code: 'MINE', message: 'mine: second' })
  })

  test('and throws has failed, with or without a host', async () => {
    const failing = self(() => raise(new KernelError('MINE', 'mine: no')))
    await expect(startRun(failing, input)).rejects.toMatchObject({ code: 'MINE' })
    await expect(startRun(failing, input, {}, { around: (_, run) => run.agent(input) })).rejects.toMatchObject({
      code: 'MINE',
    })
  })

  test('cannot write an event of an unknown type, with a stamp of its own or without', async () => {
    for (const stamp of [{}, { runId: 'R', agentName: 'self', runPath: [] }]) {
      const agent = self(async function* () {
        yield { type: 'bogus', ...stamp } as never
      })
      await expect(startRun(agent, input, { runId: 'R' })).rejects.toMatchObject({ code: 'EVENT_INVALID' })
    }
  })

  test('writes its last state change, even without a later event', async () => {
    const agent: Agent = { ...quiet('self', async (ctx) => ctx.state.set('last', true)), observesItself: true }
    const events = await collect(startRun(agent, input, { runId: 'R' }))
    const stamp = { runId: 'R', agentName: 'self', runPath: [] }
    expect(events.slice(1, -1)).toStrictEqual([{ type: 'state-delta', ...stamp, set: { last: true }, removed: [] }])
  })

  test('writes events in a nested run under its own name and id, and has no part in the call around it', async () => {
    const actions: unknown[] = []
    const inner: Agent = {
      ...quiet('inner', async (ctx) => {
        await ctx.emit('hop', ctx.agentName)
        ctx.sendAction({ type: 'exit' })
      }),
      observesItself: true,
    }
    const codes: unknown[] = []
    const root = quiet('root', async (ctx) => {
      const call = callOf(ctx, 0, { onAction: (action) => void actions.push(action) })
      await runNested(inner, input, call).catch((error: KernelError) => codes.push(error.code))
    })
    const events = await collect(startRun(root, input, { runId: 'R' }))
    const stamp = {
      runId: 'R/tool:0:0',
      agentName: 'inner',
      runPath: ['root'],
      parentRunId: 'R',
      parentCallId: 'root-0',
      origin: 'root-0',
    }
    expect(events.filter(({ type }) => type === 'custom')).toStrictEqual([
      { type: 'custom', ...stamp, name: 'hop', data: 'inner' },
    ])
    expect([actions, codes]).toEqual([[], ['CONFIG_INVALID']])
  })
})
