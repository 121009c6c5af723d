import { getEventListeners } from 'node:events'
import { beforeEach, describe, expect, test, vi } from 'vitest'
import type { AgentEvent, Clock } from '../index.ts'
import { KernelError, say } from '../index.ts'
import type { RunHost } from '../run.ts'
import { collect, idle, noUnhandledRejection, raise } from '../stream/stream.fixture.ts'
import { agentOf, fakeClock, input, never, quiet, settled, startHosted, talker, typesOf } from './run.fixture.ts'

beforeEach(noUnhandledRejection)

describe('a host', () => {
  const talking = talker('a')
  const commit = () => raise(new Error('commit'))

  /** A run in a host, and what becomes of both. */
  async function hosted(host: RunHost, agent = talking) {
    const seen: string[] = []
    const { signal } = new AbortController()
    const sign = (text: string) => () => void seen.push(text)
    const all = { onStart: sign('+'), onEnd: sign('-'), onError: sign('-') }
    const open = async () => ({ close: async () => void seen.push('closed') })
    const callbacks = [{ name: 'h', run: all, agent: all }]
    const run = startHosted(agent, input, { open, ...host, callbacks, report: sign('reported'), signal })
    const read: { events: AgentEvent[]; thrown?: unknown } = { events: [] }
    try {
      for await (const event of run) read.events.push(event)
    } catch (error) {
      read.thrown = error
    }
    await idle()
    const listeners = getEventListeners(signal, 'abort').length
    return { ...read, types: typesOf(read.events), code: await settled(run), seen, listeners }
  }

  test.each([
    ['rejects', async () => raise(new KernelError('THREAD_BUSY', 'test: busy'))],
    ['throws', () => raise(new KernelError('THREAD_BUSY', 'test: busy'))],
  ])('whose open %s rejects for those that iterate or await, and is not reported elsewhere', async (_, open) => {
    const { thrown, ...rest } = await hosted({ open })
    expect(thrown).toMatchObject({ code: 'THREAD_BUSY' })
    expect(rest).toEqual({ events: [], types: [], code: 'THREAD_BUSY', seen: [], listeners: 0 })
  })

  const arounds: Record<string, NonNullable<RunHost['around']>> = {
    'throws at once': commit,
    'returns no stream': () => undefined as never,
    async *'throws in the middle'(_, run) {
      for await (const event of run.agent(input)) yield event.type === 'text-delta' ? commit() : event
    },
    async *'throws after the end'(_, run) {
      yield* run.agent(input)
      commit()
    },
    async *'yields null'(_, run) {
      yield* run.agent(input)
      yield null as never
    },
  }
  test.each(Object.entries(arounds))(
    'whose around %s fails the run with one error and is closed once',
    async (_, around) => {
      const { events, types, thrown, seen, listeners } = await hosted({ around })
      expect([types.slice(-2), types.filter((type) => type === 'error')]).toEqual([['error', 'run-end'], ['error']])
      const error = { code: 'AGENT_FAILED', message: expect.any(String) }
      expect(events.slice(-2)).toMatchObject([{ error }, { outcome: 'failed', error }])
      expect(thrown).toMatchObject(error)
      expect([listeners, seen.filter((sign) => sign === 'closed')]).toEqual([0, ['closed']])
      expect(seen.filter((sign) => sign === '+').length).toBe(seen.filter((sign) => sign === '-').length)
    },
  )

  test('whose around fails after the agent did still shows one error in the failed run', async () => {
    const failing = agentOf('a', () => raise(new Error('agent')))
    const { types, seen } = await hosted({ around: arounds['throws after the end'] ?? commit }, failing)
    expect(types.filter((type) => type === 'error')).toHaveLength(1)
    expect(seen.filter((sign) => sign === 'reported')).toHaveLength(1)
  })

  test('whose around makes its own run-end cannot end the run twice', async () => {
    const { types } = await hosted({
      async *around({ runId, agentName, runPath }, run) {
        yield* run.agent(input)
        const usage = { inputTokens: 0, outputTokens: 0 }
        yield { type: 'run-end', runId, agentName, runPath, outcome: 'complete', text: '', usage }
      },
    })
    expect(types.filter((type) => type === 'run-end')).toHaveLength(1)
  })

  test.each(['rejects', 'throws'])('whose close %s is reported, and the run is what it was', async (how) => {
    const close = () => (how === 'rejects' ? Promise.reject(new Error('close')) : raise(new Error('close')))
    const { code, seen, types } = await hosted({ open: async () => ({ close }) })
    expect([code, types.at(-1), seen]).toEqual(['complete', 'run-end', ['+', '+', '-', '-', 'reported']])
  })

  test.each(['open', 'around', 'close'])('whose %s hangs does not hold a consumer who leaves', async (where) => {
    const clock = fakeClock()
    const late = Promise.withResolvers<void>()
    const seen: string[] = []
    const run = startHosted(talking, input, {
      clock,
      report: ({ code }) => void seen.push(code),
      async open({ signal }) {
        signal.addEventListener('abort', () => void seen.push('aborted'))
        if (where === 'open') await late.promise
        return {
          async close() {
            seen.push('closed')
            if (where === 'close') await never
          },
        }
      },
      async *around(_, run) {
        yield* run.agent(input)
        if (where === 'around') await never
      },
    })
    const iterator = run[Symbol.asyncIterator]()
    const reading = Promise.all(Array.from({ length: 10 }, () => iterator.next()))
    await idle()
    void iterator.return?.().then(() => seen.push('left'))
    await clock.pass(20_000)
    expect(seen).toContain('left')
    await reading
    late.resolve()
    await idle()
    expect(seen.filter((sign) => sign === 'closed')).toHaveLength(1)
    if (where === 'open') expect(seen).toEqual(['aborted', 'left', 'closed'])
    expect(seen.includes('TIMEOUT')).toBe(where === 'close')
  })

  test('whose open fails rejects when the run is only awaited', async () => {
    const open = () => raise(new KernelError('THREAD_BUSY', 'test: busy'))
    expect(await settled(startHosted(talking, input, { open }))).toBe('THREAD_BUSY')
  })

  test('gives the state that the run begins with', async () => {
    const open = async () => ({ state: { from: 'host' }, close: async () => undefined })
    const agent = agentOf('a', (ctx) => say(ctx, `${ctx.state.get('from')} ${ctx.state.get('own')}`))
    const run = startHosted(agent, input, { open, state: { from: 'settings', own: 1 } })
    expect(await run).toMatchObject({ text: 'host undefined' })
  })

  test('is closed before the run ends, whether it is awaited, read or left', async () => {
    for (const way of ['awaits', 'reads', 'leaves']) {
      const clock = fakeClock()
      const seen: string[] = []
      const gate = Promise.withResolvers<void>()
      const close = async () => {
        seen.push('closing')
        await gate.promise
        seen.push('closed')
      }
      const run = startHosted(talking, input, { clock, open: async () => ({ close }) })
      const leave = async () => {
        const iterator = run[Symbol.asyncIterator]()
        await iterator.next()
        await iterator.return?.()
      }
      const ways: Record<string, () => Promise<unknown>> = {
        awaits: () => settled(run),
        reads: () => collect(run),
        leaves: leave,
      }
      const done = ways[way]?.().then(() => seen.push('over'))
      await idle()
      gate.resolve()
      await done
      expect([seen, clock.pending()], way).toEqual([['closing', 'closed', 'over'], 0])
    }
  })

  test('that cannot close is reported to the console if there is no report option', async () => {
    const error = vi.spyOn(console, 'error').mockReturnValue()
    const open = async () => ({ close: () => Promise.reject(new KernelError('MINE', 'mine: stuck')) })
    await startHosted(talking, input, { open })
    expect(error.mock.calls).toMatchObject([[{ code: 'MINE', message: 'mine: stuck' }]])
    error.mockRestore()
  })

  test.each(['run-start', 'run-end'] as const)('whose around writes a %s of its own is EVENT_INVALID', async (type) => {
    const { events } = await hosted({
      async *around({ runId, agentName, runPath }, run) {
        yield {
          type,
          runId,
          agentName,
          runPath,
          outcome: 'complete',
          text: '',
          usage: { inputTokens: 0, outputTokens: 0 },
        }
        yield* run.agent(input)
      },
    })
    const message = expect.stringMatching(new RegExp(`^run .+: only the kernel writes ${type}$`))
    expect(events.at(-1)).toMatchObject({ outcome: 'failed', error: { code: 'EVENT_INVALID', message } })
    expect(typesOf(events)).toEqual(['run-start', 'error', 'run-end'])
  })

  test('that saves for longer than the grace of its agent sees one end of it, even if the agent wakes up', async () => {
    const clock = fakeClock()
    const controller = new AbortController()
    const [wake, saved] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const seen: string[] = []
    const run = startHosted(
      quiet('a', () => wake.promise),
      input,
      {
        clock,
        signal: controller.signal,
        async *around(_, run) {
          for await (const event of run.agent(input)) {
            seen.push(event.type)
            yield event
          }
          await saved.promise
        },
      },
    )
    const events = collect(run)
    await idle()
    controller.abort()
    await clock.pass(1_000)
    wake.resolve()
    await clock.pass(1_000)
    saved.resolve()
    expect(typesOf(await events)).toEqual(['run-start', 'agent-start', 'agent-end', 'run-end'])
    expect([seen, await settled(run)]).toEqual([['agent-start', 'agent-end'], 'ABORTED'])
  })

  test('keeps the process alive while it closes, and so does an agent that has to end', async () => {
    const clock = fakeClock()
    const timers: unknown[] = []
    const after: Clock['after'] = (ms, callback, hold) => {
      timers.push([ms, hold])
      return clock.after(ms, callback)
    }
    const controller = new AbortController()
    const run = startHosted(
      quiet('a', () => never),
      input,
      {
        clock: { ...clock, after },
        signal: controller.signal,
        open: async () => ({ close: async () => undefined }),
      },
    )
    const done = settled(run)
    await idle()
    controller.abort()
    await clock.pass(1_000)
    expect([await done, timers]).toEqual([
      'ABORTED',
      [
        [1_000, undefined],
        [10_000, undefined],
      ],
    ])
  })

  test('may take queueMs longer to open than the run may take, and the limit starts again when it has opened', async () => {
    const outcomes: string[] = []
    const start = (open: () => Promise<{ close(): Promise<void> }>) => {
      const clock = fakeClock()
      const agent = quiet('a', () => never)
      settled(startHosted(agent, input, { clock, timeoutMs: 2_000, queueMs: 5_000, open })).then((code) => {
        outcomes.push(code)
      })
      return clock
    }
    const opening = Promise.withResolvers<{ close(): Promise<void> }>()
    const queued = start(() => opening.promise)
    await idle()
    await queued.pass(6_500)
    opening.resolve({ close: async () => undefined })
    await idle()
    await queued.pass(1_999)
    expect(outcomes).toEqual([])
    // One second more for an agent that does not end.
    await queued.pass(1_001)
    await idle()
    expect([outcomes, queued.pending()]).toEqual([['TIMEOUT'], 0])
    const hung = start(() => never)
    await idle()
    await hung.pass(6_999)
    expect(outcomes).toHaveLength(1)
    await hung.pass(1_001)
    await idle()
    expect([outcomes, hung.pending()]).toEqual([['TIMEOUT', 'TIMEOUT'], 0])
  })

  test('of a run that is aborted before it begins may hang in open, and has nothing to do around it', async () => {
    const clock = fakeClock()
    const settings = { clock, signal: AbortSignal.abort() }
    const hung = settled(startHosted(talking, input, { ...settings, open: () => never }))
    await clock.pass(1_000)
    expect([await hung, clock.pending()]).toEqual(['ABORTED', 0])
    let asked = 0
    const around: RunHost['around'] = (_, run) => {
      asked++
      return run.agent(input)
    }
    const run = startHosted(talking, input, { ...settings, around })
    expect([typesOf(await collect(run)), asked]).toEqual([['run-start', 'run-end'], 0])
  })
})
