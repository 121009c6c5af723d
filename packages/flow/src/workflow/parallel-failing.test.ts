import { getEventListeners } from 'node:events'
import { type Agent, KernelError, type RunContext, type RunInfo, say } from '@troupe/kernel'
import { startRun } from '@troupe/kernel/run'
import { fakeClock, record, testAgent } from '@troupe/testkit'
import { describe, expect, test } from 'vitest'
import {
  agentOf,
  failing,
  hello,
  idle,
  never,
  quiet,
  runToEnd,
  talker,
  textsOf,
  tool,
  transferring,
} from '../flow.fixture.ts'
import { agentTool, parallel, sequential, setSubAgents } from '../index.ts'
import { scriptedAgent } from '../scripted-agent.fixture.ts'

const mine = new KernelError('MINE', 'mine: no')
const both = (onError: 'stop' | 'continue', ...agents: readonly Agent[]) => parallel({ name: 'all', agents, onError })
const ends = (lines: readonly string[]) => lines.filter((line) => line.includes('agent-end'))

testAgent('parallel with a failing branch that is tolerated', () => both('continue', failing('a'), talker('b')))

/** An agent that waits until it is aborted. */
const patient = (name: string, heard: unknown[] = []) =>
  quiet(name, async (ctx) => {
    await new Promise((resolve) => ctx.signal.addEventListener('abort', resolve, { once: true }))
    heard.push(ctx.signal.reason)
    throw ctx.signal.reason
  })

describe('stop: a failing branch', () => {
  test('is the default', async () => {
    const { end } = await runToEnd(parallel({ name: 'all', agents: [failing('a', mine), patient('b')] }))
    expect(end).toMatchObject({ outcome: 'failed', error: { code: 'MINE' } })
  })

  test('stops the others and fails the workflow with its error, reported once', async () => {
    const heard: unknown[] = []
    const { errors, lines, end } = await runToEnd(
      both('stop', patient('a', heard), failing('b', mine), patient('c', heard)),
    )
    expect(errors).toMatchObject([{ code: 'MINE', message: 'mine: no' }])
    expect(end).toMatchObject({ outcome: 'failed', error: { code: 'MINE' } })
    expect(heard).toMatchObject([{ code: 'ABORTED' }, { code: 'ABORTED' }])
    expect(ends(lines).toSorted()).toEqual([
      'all agent-end failed',
      'all/a agent-end cancelled',
      'all/b agent-end failed',
      'all/c agent-end cancelled',
    ])
  })

  test('does not stop what runs beside the workflow', async () => {
    const inner = both('stop', failing('a', mine), patient('b'))
    const outer = parallel({ name: 'outer', agents: [inner, talker('c')], onError: 'continue' })
    const { end, said, lines } = await runToEnd(outer)
    expect([end?.outcome, said]).toEqual(['complete', ['c: I am c.']])
    expect(ends(lines)).toContain('outer/all agent-end failed')
  })

  const besideDeaf = async () => {
    const clock = fakeClock()
    const open = new Set<string>()
    const close = ({ name }: RunInfo) => void open.delete(name)
    const agent = { onStart: ({ name }: RunInfo) => void open.add(name), onEnd: close, onError: close }
    const workflow = both(
      'stop',
      failing('a', mine),
      quiet('deaf', () => never),
    )
    const reading = record(startRun(workflow, hello, { clock, callbacks: [{ name: 'spans', agent }] }))
    await idle()
    clock.advance(1_000)
    return { ...(await reading), open: [...open], timers: clock.pending }
  }

  test('with a deaf one beside it ends all the same, after a second, and no span is left open', async () => {
    const { end, open, timers } = await besideDeaf()
    expect(end).toMatchObject({ outcome: 'failed', error: { code: 'MINE' } })
    expect([open, timers]).toEqual([[], 0])
  })

  test('with a deaf one beside it shows the end of every agent that has begun', async () => {
    expect(ends((await besideDeaf()).lines).toSorted()).toEqual([
      'all agent-end failed',
      'all/a agent-end failed',
      expect.stringMatching(/^all\/deaf agent-end/),
    ])
  })

  test('reaches workflows and agent tools in the other branches', async () => {
    const inner = parallel({ name: 'inner', agents: [patient('b'), patient('c')], onError: 'continue' })
    const args = { request: 'Go.' }
    const caller = scriptedAgent('d', [[{ name: 'e', args }], 'Done.'], agentTool(patient('e'), { forward: true }))
    const late = quiet('a', () => idle().then(() => Promise.reject(mine)))
    const { lines, errors } = await runToEnd(both('stop', late, inner, caller))
    const cancelled = ['inner/b', 'inner/c', 'inner', 'd/e', 'd'].map((path) => `all/${path} agent-end cancelled`)
    expect(ends(lines).map((line) => line.trim())).toEqual(expect.arrayContaining(cancelled))
    expect(errors).toMatchObject([{ code: 'MINE' }])
  })

  test('lets nothing new begin in the others', async () => {
    const clock = fakeClock()
    const endless = agentOf('b', async function* () {
      for (let i = 0; i < 20; i++) {
        await idle()
        yield { type: 'custom', name: 'alive', data: i }
      }
    })
    const { events } = await record(startRun(both('stop', failing('a', mine), endless), hello, { clock }))
    const failed = events.findIndex(({ type }) => type === 'error')
    expect(events.slice(failed).filter(({ type }) => type === 'custom')).toEqual([])
  })

  test('keeps what was said and written until then, in listed order', async () => {
    const seen: unknown[] = []
    const saying = (name: string, then: () => Promise<unknown>) =>
      agentOf(name, async function* (ctx) {
        ctx.state.set(name, 1)
        yield* say(ctx, name)
        await then()
        throw mine
      })
    const inner = both(
      'stop',
      saying('a', idle),
      saying('b', () => idle().then(idle)),
    )
    const outer = parallel({ name: 'outer', agents: [inner, talker('c')], onError: 'continue' })
    const after = scriptedAgent('after', ['Done.'])
    const look = quiet('look', (ctx) => seen.push([...ctx.state.keys()].toSorted()))
    await runToEnd(sequential({ name: 'steps', agents: [outer, after, look] }))
    expect(textsOf(after.inputs[0]?.messages ?? []).slice(1)).toEqual([
      'user: For context: [a] said: a.',
      'user: For context: [b] said: b.',
      'user: For context: [c] said: I am c..',
    ])
    expect(seen).toEqual([['a', 'b']])
  })

  test('rejects an awaited run with its own error', async () => {
    const run = startRun(both('stop', failing('a', mine), talker('b')), hello)
    await expect(Promise.resolve(run)).rejects.toMatchObject({ code: 'MINE', message: 'mine: no' })
  })

  test('rejects with that very error, its stack and its cause', async () => {
    const run = startRun(both('stop', failing('a', mine), talker('b')), hello)
    await expect(Promise.resolve(run)).rejects.toBe(mine)
  })
})

describe('continue: a failing branch', () => {
  test('lets the others finish; the workflow is complete, and no error is shown', async () => {
    const { errors, lines, end, said } = await runToEnd(both('continue', failing('a', mine), talker('b')))
    expect([errors, said, end?.outcome]).toEqual([[], ['b: I am b.'], 'complete'])
    expect(end).not.toHaveProperty('error')
    expect(ends(lines)[0]).toBe('all/a agent-end failed')
  })

  test('reports its error in agent-end', async () => {
    const { events } = await runToEnd(both('continue', failing('a', mine), talker('b')))
    const end = events.find((event) => event.type === 'agent-end' && event.agentName === 'a')
    expect(end).toMatchObject({ outcome: 'failed', error: { code: 'MINE' } })
  })

  test('is followed by the next step', async () => {
    const agents = [both('continue', failing('a', mine), talker('b')), talker('after')]
    expect((await runToEnd(sequential({ name: 'steps', agents }))).end?.text).toBe('I am after.')
  })

  test('is followed by the next step also when it left a call without a result', async () => {
    const broken = scriptedAgent(
      'b',
      [['t'], 'Done.'],
      tool('t', () => {
        throw mine
      }),
    )
    const agents = [both('continue', talker('a'), broken), talker('after')]
    const { turns, end } = await runToEnd(sequential({ name: 'steps', agents }))
    expect([turns.at(-1), end?.outcome, end?.text]).toEqual(['steps/after', 'complete', 'I am after.'])
  })

  test('beside failing ones only is the failure of the workflow: the first listed, reported once', async () => {
    const late = agentOf('a', async function* (ctx) {
      yield* say(ctx, 'a')
      await idle()
      throw mine
    })
    const { errors, end } = await runToEnd(both('continue', late, failing('b')))
    expect(errors).toMatchObject([{ code: 'MINE' }])
    expect(end).toMatchObject({ outcome: 'failed', error: { code: 'MINE' } })
  })

  test('that transfers to an unknown agent is a failing branch too', async () => {
    const { end, errors } = await runToEnd(both('continue', transferring('a', 'stranger'), talker('b')))
    expect([end?.outcome, errors]).toEqual(['complete', []])
    const alone = await runToEnd(both('continue', transferring('a', 'stranger')))
    expect(alone.errors).toMatchObject([{ code: 'TRANSFER_TARGET_UNKNOWN' }])
  })

  test('keeps its state and messages too', async () => {
    const seen: unknown[] = []
    const a = agentOf('a', async function* (ctx) {
      yield* say(ctx, 'Before.')
      ctx.state.set('k', 1)
      throw mine
    })
    const after = scriptedAgent('after', ['Done.'])
    const agents = [both('continue', a, talker('b')), quiet('look', (ctx) => seen.push(ctx.state.get('k'))), after]
    await runToEnd(sequential({ name: 'steps', agents }))
    expect(seen).toEqual([1])
    expect(textsOf(after.inputs[0]?.messages ?? [])[1]).toBe('user: For context: [a] said: Before..')
  })

  test('of a cancel is a cancel, not a failure that is tolerated', async () => {
    const controller = new AbortController()
    const cancelling = quiet('a', async (ctx) => {
      controller.abort()
      ctx.signal.throwIfAborted()
    })
    const { end } = await runToEnd(both('continue', cancelling, talker('b')), hello, { signal: controller.signal })
    expect(end?.outcome).toBe('cancelled')
  })

  test('of a soft cancel between two agents is a cancel too', async () => {
    let cancelling = false
    const lead = agentOf('lead', async function* () {
      await idle()
      yield { type: 'action', action: { type: 'transfer-to-agent', agentName: 'child' } }
      cancelling = true
    })
    const tree = setSubAgents(lead, [talker('child')])
    const settings = { cancelling: () => (cancelling ? ('after-tools' as const) : undefined) }
    const { end, turns } = await runToEnd(both('continue', talker('a'), tree), hello, settings)
    expect([turns.includes('all/lead/child'), end?.outcome]).toEqual([false, 'cancelled'])
  })
})

test.each(['stop', 'continue'] as const)('%s leaves no listener on any signal', async (onError) => {
  const controller = new AbortController()
  const signals: AbortSignal[] = [controller.signal]
  const looking = quiet('look', (ctx) => signals.push(ctx.signal))
  const agent = both(onError, looking, failing('b', mine), talker('c'))
  const prepare = (ctx: RunContext) => {
    signals.push(ctx.signal)
    return ctx
  }
  await runToEnd(agent, hello, { signal: controller.signal, prepare })
  expect(signals).toHaveLength(3)
  for (const signal of signals) expect(getEventListeners(signal, 'abort')).toEqual([])
})

test('a soft cancel before it begins starts no branch', async () => {
  const { turns, end } = await runToEnd(both('continue', talker('a'), talker('b')), hello, {
    cancelling: () => 'after-model',
  })
  expect([turns, end?.outcome]).toEqual([['all'], 'cancelled'])
})
