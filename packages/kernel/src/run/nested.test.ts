import { beforeEach, describe, expect, test } from 'vitest'
import type { Agent, AgentEvent, RunContext } from '../index.ts'
import { contextKey, KernelError, say } from '../index.ts'
import type { RunSettings } from '../run.ts'
import { createRunContext, runNested, startRun } from '../run.ts'
import { collect, idle, noUnhandledRejection } from '../stream/stream.fixture.ts'
import { agentOf, brief, caller, callOf, fakeClock, input, quiet, settled, talker, toolStart } from './run.fixture.ts'

beforeEach(noUnhandledRejection)

describe('a nested run', () => {
  test('three levels deep stamps every event with where it stands', async () => {
    const places: unknown[] = []
    const prepare = (ctx: RunContext) => {
      places.push([ctx.depth, ctx.origin])
      return ctx
    }
    const leaf = agentOf('leaf', (ctx) => {
      places.push([ctx.depth, ctx.origin])
      return say(ctx, 'leaf')
    })
    const root = caller('root', caller('mid', leaf, leaf))
    const events = await collect(startRun(root, input, { runId: 'R', prepare }))
    const stamps: Record<string, object> = {
      R: { agentName: 'root', runPath: [], parentCallId: undefined },
      'R/tool:0:0': { agentName: 'mid', runPath: ['root'], parentCallId: 'root-0' },
      'R/tool:0:0/tool:0:0': { agentName: 'leaf', runPath: ['root', 'mid'], parentCallId: 'mid-0' },
      'R/tool:0:0/tool:0:1': { agentName: 'leaf', runPath: ['root', 'mid'], parentCallId: 'mid-1' },
    }
    for (const { runId, agentName, runPath, parentCallId } of events) {
      expect({ agentName, runPath, parentCallId }, runId).toEqual(stamps[runId])
    }
    for (const runId of Object.keys(stamps)) {
      const own = events.filter((event) => event.runId === runId).map(({ type }) => type)
      expect([own[0], own.at(-1), own.length], runId).toEqual(['run-start', 'run-end', 7])
    }
    const parents = events.flatMap((event) => (event.type === 'agent-start' ? [event.parentRunId] : []))
    expect(parents).toEqual([undefined, 'R', 'R/tool:0:0', 'R/tool:0:0'])
    expect(places).toEqual([
      [0, ''],
      [2, 'root-0/mid-0'],
      [2, 'root-0/mid-1'],
    ])
  })

  test('beside others in the same call has an id of its own', async () => {
    const root = agentOf('root', async function* (ctx) {
      const call = callOf(ctx, 0)
      await Promise.all(['one', 'two', 'three'].map((name) => runNested(talker(name), input, call)))
      yield* say(ctx, 'done')
    })
    const starts = (await collect(startRun(root, input))).filter(({ type }) => type === 'message-start')
    expect(new Set(starts.map(({ runId }) => runId)).size).toBe(4)
    expect(new Set(starts.map((event) => 'messageId' in event && event.messageId)).size).toBe(4)
  })

  test('adds to what the runs around it have spent, hidden and failed ones too', async () => {
    const spender = (tokens: number, fails: boolean, ...children: readonly Agent[]) =>
      agentOf('spender', async function* (ctx) {
        const message = { id: ctx.ids.next(), role: 'assistant', content: '' } as const
        yield { type: 'message-end', message, usage: { inputTokens: tokens, outputTokens: 1, reasoningTokens: tokens } }
        const run = (child: Agent, i: number) => runNested(child, input, callOf(ctx, i), { forward: i > 0 })
        await Promise.allSettled(children.map(run))
        if (fails) throw new Error('broke')
      })
    const leaf = spender(1, false)
    const root = spender(1_000, false, spender(100, true, leaf, leaf), spender(10, false, leaf, spender(1, true)))
    const usage = { inputTokens: 1_114, outputTokens: 7, reasoningTokens: 1_114 }
    expect(await startRun(root, input)).toMatchObject({ usage })
  })

  test('that is not forwarded shows its state alone, at any depth, and all of it to onEvent', async () => {
    const leaf = agentOf('leaf', async function* (ctx) {
      ctx.state.set('seen', ctx.depth)
      yield toolStart
      yield* say(ctx, 'leaf')
    })
    const seen: AgentEvent[] = []
    const root = agentOf('root', async function* (ctx) {
      const onEvent = (event: AgentEvent) => void seen.push(event)
      const { text } = await runNested(caller('mid', leaf), input, callOf(ctx, 0), { forward: false, onEvent })
      yield* say(ctx, `${text} ${ctx.state.get('seen')}`)
    })
    const run = startRun(root, input)
    const foreign = (await collect(run)).filter(({ agentName }) => agentName !== 'root')
    expect(brief(foreign)).toEqual(['leaf state-delta'])
    expect(await run).toMatchObject({ text: 'mid 2' })
    expect([brief(seen)[0], brief(seen).at(-1)]).toEqual(['mid run-start', 'mid run-end'])
    expect(brief(seen).filter((event) => event.startsWith('leaf'))).toHaveLength(9)
  })

  test('that fails rejects in its call alone and shows one error for each run that passes it on', async () => {
    const broken = agentOf('broken', () => {
      throw new KernelError('MINE', 'mine: no', { retryable: true, details: { why: 1 } })
    })
    const codes: unknown[] = []
    const careful = agentOf('careful', async function* (ctx) {
      const results = await Promise.allSettled(
        [broken, talker('fine'), caller('mid', broken)].map((agent, i) => runNested(agent, input, callOf(ctx, i))),
      )
      for (const result of results) codes.push(result.status === 'fulfilled' ? result.value.text : result.reason)
      yield* say(ctx, 'alive')
    })
    const events = await collect(startRun(careful, input))
    const error = { code: 'MINE', message: 'mine: no', retryable: true, details: { why: 1 } }
    expect(codes).toMatchObject([error, 'fine', error])
    expect(events.at(-1)).toMatchObject({ outcome: 'complete', text: 'alive' })
    const failed = events.filter(({ type }) => type === 'error').map(({ runId }) => runId)
    expect([failed.length, new Set(failed).size]).toEqual([3, 3])
  })

  test('keeps its actions to itself', async () => {
    const actions: unknown[] = []
    const exiting = agentOf('exiting', async function* () {
      yield { type: 'action', action: { type: 'exit', result: 'inner' } }
      yield { type: 'action', action: { type: 'transfer-to-agent', agentName: 'elsewhere' } }
    })
    const root = agentOf('root', async function* (ctx) {
      const onAction = (action: unknown) => void actions.push(action)
      const { output } = await runNested(exiting, input, callOf(ctx, 0, { onAction }))
      yield* say(ctx, String(output))
    })
    expect(await startRun(root, input)).toEqual(expect.not.objectContaining({ output: expect.anything() }))
    expect(actions).toEqual([])
  })

  test('has the thread and the clock of the run around it', async () => {
    const session = { app: 'app', user: 'ann', threadId: 't' }
    const clock = fakeClock()
    const seen: unknown[] = []
    const inner = quiet('inner', async (ctx) => void seen.push(ctx.session, ctx.clock, ctx.canInterrupt))
    await startRun(caller('root', inner), input, { session, clock, canInterrupt: true })
    expect(seen).toEqual([session, clock, true])
  })

  test('outside a call is CONFIG_INVALID, in an agent or on its own', async () => {
    const message = expect.stringContaining('runNested: works only inside a tool call')
    const outside = { code: 'CONFIG_INVALID', message }
    await expect(runNested(talker('a'), input, createRunContext())).rejects.toMatchObject(outside)
    const root = quiet('root', async (ctx) => void (await runNested(talker('a'), input, ctx)))
    await expect(startRun(root, input)).rejects.toMatchObject(outside)
    const sender = quiet('sender', async (ctx) => ctx.sendAction({ type: 'exit' }))
    await expect(startRun(sender, input)).rejects.toMatchObject({
      code: 'CONFIG_INVALID',
      message: expect.stringContaining('sendAction: works only inside a tool call'),
    })
  })

  test('works in a standalone call, without a stream around it', async () => {
    expect(await runNested(talker('a'), input, callOf(createRunContext(), 0))).toMatchObject({ text: 'a' })
  })

  test('whose listener fails again and again rejects with its first failure', async () => {
    const root = quiet('root', async (ctx) => {
      const onEvent = ({ type }: AgentEvent) => {
        throw new KernelError('MINE', `mine: ${type}`)
      }
      await runNested(talker('inner'), input, callOf(ctx, 0), { onEvent })
    })
    await expect(startRun(root, input)).rejects.toMatchObject({ code: 'MINE', message: 'mine: run-start' })
  })
})

test('hundreds of runs of one agent at once keep state, values, ids, answers and events apart', async () => {
  const NUMBER = contextKey<number>('number')
  const inner = agentOf('inner', async function* (ctx) {
    ctx.state.set('inner', `${ctx.get(NUMBER)} ${ctx.state.get('own')}`)
    await idle()
    yield* say(ctx, `inner ${ctx.get(NUMBER)}`)
  })
  const agent = agentOf('a', async function* (ctx) {
    const number = ctx.get(NUMBER) ?? -1
    ctx.state.set('own', number)
    if (number % 3 === 0) await idle()
    const { text } = await runNested(inner, input, callOf(ctx, 0))
    if (number % 5 === 0) throw new KernelError('FIVE', `test: ${number}`)
    yield* say(ctx, `${text} ${ctx.state.get('own')} ${ctx.state.get('inner')}`)
  })
  const one = async (number: number) => {
    const settings: RunSettings = { runId: `R${number}`, prepare: (ctx) => ctx.with(NUMBER, number), state: { number } }
    const run = startRun(agent, input, settings)
    const events = await collect(run)
    for (const { runId } of events) expect(runId.split('/')[0]).toBe(`R${number}`)
    const five = number % 5 === 0
    const text = `inner ${number} ${number} ${number} ${number}`
    expect(events.at(-1)).toMatchObject(five ? { error: { message: `test: ${number}` } } : { text })
    expect(await settled(run)).toBe(five ? 'FIVE' : 'complete')
    expect(events).toHaveLength(five ? 14 : 16)
  }
  await Promise.all(Array.from({ length: 300 }, (_, number) => one(number)))
})
