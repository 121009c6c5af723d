import { getEventListeners } from 'node:events'
import { beforeEach, describe, expect, test } from 'vitest'
import type { Agent, AgentEvent, RunSettings } from '../index.ts'
import { abortScope, contextKey, KernelError, say } from '../index.ts'
import { createRunContext, runNested, startRun } from '../run.ts'
import { collect, idle, noUnhandledRejection } from '../stream/stream.fixture.ts'
import { agentOf, brief, callOf, fakeClock, input, never, quiet, settled, talker, toolStart } from './run.fixture.ts'

beforeEach(noUnhandledRejection)

/** An agent that runs others inside one call each, at the same time, then says its name. */
const caller = (name: string, ...children: readonly Agent[]) =>
  agentOf(name, async function* (ctx) {
    await Promise.all(children.map((child, i) => runNested(child, input, callOf(ctx, i))))
    yield* say(ctx, name)
  })

describe('a nested run', () => {
  test('three levels deep stamps every event with where it stands', async () => {
    const depths: number[] = []
    const leaf = agentOf('leaf', (ctx) => {
      depths.push(ctx.depth)
      return say(ctx, 'leaf')
    })
    const events = await collect(startRun(caller('root', caller('mid', leaf, leaf)), input, { runId: 'R' }))
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
    expect(depths).toEqual([2, 2])
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

  test('stops at its gate wherever the outer consumer leaves, three levels up', async () => {
    let effects = 0
    const leaf = agentOf('leaf', async function* (ctx) {
      yield* say(ctx, 'before')
      yield toolStart
      effects++
      yield* say(ctx, 'after')
    })
    const root = caller('root', caller('mid', leaf))
    const all = brief(await collect(startRun(root, input)))
    for (let leaveAt = 0; leaveAt < all.length - 4; leaveAt++) {
      effects = 0
      const ends: string[] = []
      const onPart = (_: unknown, { type, agentName }: AgentEvent) => void (type === 'run-end' && ends.push(agentName))
      const run = startRun(root, input, { callbacks: [{ name: 'ends', run: { onPart } }] })
      let seen = 0
      for await (const _ of run) if (seen++ === leaveAt) break
      await settled(run)
      await idle()
      const begun = ['leaf', 'mid', 'root'].filter((name) => all.indexOf(`${name} run-start`) <= leaveAt)
      expect(effects, `left after ${all[leaveAt]}`).toBe(all.indexOf('leaf tool-start') < leaveAt ? 1 : 0)
      expect(
        ends.filter((name) => begun.includes(name)),
        `left after ${all[leaveAt]}`,
      ).toEqual(begun)
    }
  })

  test('that is deaf ends inside the runs around it, each with its own run-end, when their timers fire one by one', async () => {
    const clock = fakeClock()
    const controller = new AbortController()
    const deaf = agentOf('deaf', async function* (ctx) {
      yield* say(ctx, 'deaf')
      await never
    })
    const run = startRun(caller('root', caller('mid', deaf)), input, { clock, signal: controller.signal })
    const reading = collect(run)
    await idle()
    controller.abort()
    await clock.pass(1_000)
    const ends = (await reading).flatMap((event) =>
      event.type === 'run-end' ? [[event.agentName, event.outcome]] : [],
    )
    expect(ends).toEqual(['deaf', 'mid', 'root'].map((name) => [name, 'cancelled']))
    expect([getEventListeners(controller.signal, 'abort').length, clock.pending()]).toEqual([0, 0])
  })

  test('can be timed out alone, deaf or not, and leaves no listener on the signal of its call', async () => {
    const clock = fakeClock()
    const codes: unknown[] = []
    const root = agentOf('root', async function* (ctx) {
      for (const deaf of [true, false]) {
        using scope = abortScope(ctx.signal)
        const silent = agentOf('silent', async function* (inner) {
          await new Promise((_, reject) => deaf || inner.signal.addEventListener('abort', reject))
          yield* say(inner, 'never')
        })
        const call = callOf(ctx, deaf ? 0 : 1).derive({ signal: scope.signal })
        const nested = runNested(silent, input, call).catch((error: KernelError) => codes.push(error.code))
        await idle()
        scope.abort(new KernelError('TIMEOUT', 'test: slow'))
        if (deaf) await clock.pass(1_000)
        await nested
        codes.push(getEventListeners(scope.signal, 'abort').length)
      }
      yield* say(ctx, 'alive')
    })
    expect(await startRun(root, input, { clock })).toMatchObject({ outcome: 'complete', text: 'alive' })
    expect([codes, clock.pending()]).toEqual([['TIMEOUT', 0, 'TIMEOUT', 0], 0])
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
    const message = expect.stringContaining('runNested: works inside a tool call only')
    const outside = { code: 'CONFIG_INVALID', message }
    await expect(runNested(talker('a'), input, createRunContext())).rejects.toMatchObject(outside)
    const root = quiet('root', async (ctx) => void (await runNested(talker('a'), input, ctx)))
    await expect(startRun(root, input)).rejects.toMatchObject(outside)
    const sender = quiet('sender', async (ctx) => ctx.sendAction({ type: 'exit' }))
    await expect(startRun(sender, input)).rejects.toMatchObject({
      code: 'CONFIG_INVALID',
      message: expect.stringContaining('sendAction: works inside a tool call only'),
    })
  })

  test('works in a call that stands alone, with nobody to show it to', async () => {
    expect(await runNested(talker('a'), input, callOf(createRunContext(), 0))).toMatchObject({ text: 'a' })
  })

  test('that outlives its call is cut off with ABORTED when the run around it ends', async () => {
    const codes: unknown[] = []
    const waiting = quiet('waiting', (ctx) => {
      const { promise, reject } = Promise.withResolvers<void>()
      ctx.signal.addEventListener('abort', () => reject(ctx.signal.reason))
      return promise
    })
    const careless = agentOf('careless', async function* (ctx) {
      runNested(waiting, input, callOf(ctx, 0)).catch((error: KernelError) => codes.push(error.code, error.message))
      yield* say(ctx, 'done')
    })
    expect(await startRun(careless, input, { runId: 'R' })).toMatchObject({ outcome: 'complete', text: 'done' })
    expect(codes).toEqual(['ABORTED', 'run R: ended while a nested run was under way'])
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

  test('that is deaf has less time to end than the run around it, at every level', async () => {
    const clock = fakeClock()
    const controller = new AbortController()
    const ends: unknown[] = []
    const onPart = (_: unknown, { type, agentName }: AgentEvent) =>
      void (type === 'run-end' && ends.push([agentName, Math.round(clock.now())]))
    const deaf = (name: string, ...children: readonly Agent[]) =>
      quiet(name, async (ctx) => {
        await Promise.allSettled(children.map((child, i) => runNested(child, input, callOf(ctx, i))))
        await never
      })
    const callbacks = [{ name: 'ends', run: { onPart } }]
    const agent = deaf('root', deaf('mid', deaf('leaf')))
    const run = settled(startRun(agent, input, { clock, signal: controller.signal, callbacks }))
    await idle()
    controller.abort()
    await clock.pass(1_000)
    expect([await run, ends]).toEqual([
      'ABORTED',
      [
        ['leaf', 333],
        ['mid', 500],
        ['root', 1_000],
      ],
    ])
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
