import { execFileSync } from 'node:child_process'
import { getEventListeners } from 'node:events'
import { describe, expect, test } from 'vitest'
import type { Agent, AgentEvent, Interrupt } from '../index.ts'
import { KernelError, say, stream } from '../index.ts'
import type { RunSettings } from '../run.ts'
import { observe, runNested, startRun } from '../run.ts'
import { collect } from '../stream/stream.fixture.ts'
import { agentOf, input, talker } from './run.fixture.ts'

const brief = (events: readonly AgentEvent[]) => events.map(({ agentName, type }) => `${agentName} ${type}`)
const call = { callId: 'c1', onAction() {}, onInterrupt() {} }

/** Reads a run; returns the events that were shown and those that callbacks got. */
async function both(agent: Agent, settings: RunSettings = {}, after?: (event: AgentEvent) => void) {
  const seen: AgentEvent[] = []
  const listener = { name: 'listener', run: { onPart: (_: unknown, event: AgentEvent) => void seen.push(event) } }
  const shown: AgentEvent[] = []
  for await (const event of startRun(agent, input, { callbacks: [listener], ...settings }).eventsWithoutThrowing()) {
    shown.push(event)
    after?.(event)
  }
  return { shown, seen }
}

describe('what ends something', () => {
  test('comes in order behind a state change, however slow the consumer is', async () => {
    const agent = agentOf('a', (ctx) =>
      stream(async (sink) => {
        for (let i = 0; i < 5; i++) void sink.write({ type: 'custom', name: 'x', data: i })
        ctx.state.set('k', 1)
        throw new Error('boom')
      }),
    )
    const { shown } = await both(agent)
    expect(brief(shown).slice(-4)).toEqual(['a state-delta', 'a error', 'a agent-end', 'a run-end'])
  })

  test('reports an error of an unseen child that its parent passes on', async () => {
    const child = agentOf('child', () => stream(() => Promise.reject(new KernelError('MODEL_FAILED', 'gone'))))
    const parent = agentOf('parent', (ctx) =>
      stream(async () => {
        for (const event of await collect(observe(child, input, ctx))) {
          if (event.type === 'agent-end' && event.error) throw KernelError.from(event.error)
        }
      }),
    )
    const { shown } = await both(parent)
    expect(shown.filter(({ type }) => type === 'error')).toMatchObject([
      { agentName: 'parent', error: { code: 'MODEL_FAILED' } },
    ])
  })

  test("includes a child that a parent's generator reads, even after an abort", async () => {
    const controller = new AbortController()
    const parent = agentOf('parent', async function* (ctx) {
      yield* observe(talker('child'), input, ctx.derive({ step: 'agent:1' }))
    })
    const { shown, seen } = await both(parent, { signal: controller.signal }, (event) => {
      if (event.type === 'text-delta') controller.abort()
    })
    for (const events of [shown, seen]) {
      expect(events.filter(({ type }) => type === 'agent-start')).toHaveLength(2)
      expect(events.filter(({ type }) => type === 'agent-end')).toHaveLength(2)
    }
    expect(shown.at(-1)).toMatchObject({ type: 'run-end', outcome: 'cancelled' })
  })

  test('has no events of what an abort kept from starting', async () => {
    const controller = new AbortController()
    const parent = agentOf('parent', (ctx) =>
      stream(async (sink) => {
        controller.abort()
        await runNested(talker('nested'), input, ctx.derive({ step: 'tool:0:0', call })).catch(() => undefined)
        for await (const event of observe(talker('child'), input, ctx)) await sink.write(event)
      }),
    )
    const { shown, seen } = await both(parent, { signal: controller.signal })
    expect(brief(shown)).toEqual(['parent run-start', 'parent agent-start', 'parent agent-end', 'parent run-end'])
    expect(brief(seen)).toEqual(brief(shown))
  })
})

describe('a nested run', () => {
  test('never outlives the run around it', async () => {
    const order: string[] = []
    const slow = agentOf('slow', (ctx) =>
      stream(async () => {
        await new Promise((_, reject) => ctx.signal.addEventListener('abort', reject, { once: true }))
      }),
    )
    const careless = agentOf('careless', async function* (ctx) {
      runNested(slow, input, ctx.derive({ step: 'tool:0:0', call })).catch(() => order.push('nested'))
      yield* say(ctx, 'Done.')
    })
    const run = startRun(careless, input)
    await run.then(({ outcome }) => order.push(outcome))
    expect(order).toEqual(['nested', 'complete'])
  })

  test('has a listener whose failure comes out, and still its end', async () => {
    const spans: string[] = []
    const run = {
      onStart: ({ runId }: { runId: string }) => void spans.push(`start ${runId}`),
      onEnd: ({ runId }: { runId: string }) => void spans.push(`end ${runId}`),
    }
    const onEvent = () => {
      throw new Error('listener')
    }
    const outer = agentOf('outer', async function* (ctx) {
      const nested = runNested(talker('inner'), input, ctx.derive({ step: 'tool:0:0', call }), { onEvent })
      yield* say(ctx, await nested.then(String, (error: Error) => error.message))
    })
    const result = await startRun(outer, input, { runId: 'r', callbacks: [{ name: 'spans', run }] })
    expect(result.text).toBe('listener')
    expect(spans).toEqual(['start r', 'start r/tool:0:0', 'end r/tool:0:0', 'end r'])
  })

  test('that asks makes the outer call wait, which is then not open as well', async () => {
    const asking = agentOf('asking', async function* (ctx) {
      yield* say(ctx, String(await ctx.interrupt({ reason: 'input' })))
    })
    const outer = agentOf('outer', (ctx) =>
      stream(async (sink) => {
        const toolCalls = [{ id: 'c1', name: 'ask', arguments: '{}' }]
        await sink.write({ type: 'message-end', message: { id: 'm', role: 'assistant', content: '', toolCalls } })
        const asked: Interrupt[] = []
        const scope = { ...call, onInterrupt: (interrupts: readonly Interrupt[]) => void asked.push(...interrupts) }
        await runNested(asking, input, ctx.derive({ step: 'tool:0:0', call: scope })).catch(() => undefined)
        await sink.write({ type: 'action', action: { type: 'interrupt', interrupts: asked } })
      }),
    )
    const { interrupts, openCallIds } = await startRun(outer, input, { canInterrupt: true })
    expect(interrupts).toMatchObject([{ id: expect.stringMatching(/^c1\/#/), callId: 'c1', agentName: 'asking' }])
    expect(openCallIds).toBeUndefined()
  })
})

describe('an agent that observes itself', () => {
  const self = (run: Agent['run']): Agent => ({ name: 'self', description: '', observesItself: true, run })

  test('is held to the known event types', async () => {
    const agent = self(async function* () {
      yield { type: 'bogus' } as never
    })
    await expect(startRun(agent, input)).rejects.toMatchObject({ code: 'EVENT_INVALID' })
  })

  test('may emit, change state, and leave stamps to the kernel', async () => {
    const agent = self(async function* (start, ctx) {
      await ctx.emit('hop', 1)
      yield { type: 'custom', name: 'own', data: 2 }
      yield* observe(talker('child'), start, ctx.derive({ step: 'agent:1', agentName: 'child', runPath: ['self'] }))
      ctx.state.set('last', true)
    })
    const { shown } = await both(agent, { runId: 'r' })
    expect(brief(shown)).toEqual([
      'self run-start',
      'self custom',
      'self custom',
      'child agent-start',
      'child message-start',
      'child text-delta',
      'child message-end',
      'child agent-end',
      'self state-delta',
      'self run-end',
    ])
    expect(shown[2]).toMatchObject({ runId: 'r', runPath: [] })
  })
})

test('an action of an unknown type is EVENT_INVALID', async () => {
  const agent = agentOf('a', async function* () {
    yield { type: 'action', action: { type: 'jump' } as never }
  })
  await expect(startRun(agent, input)).rejects.toMatchObject({ code: 'EVENT_INVALID', message: /got "jump"/ })
})

test('writes that are not awaited do not crash the process when the consumer leaves', async () => {
  const agent = agentOf('a', (ctx) =>
    stream(async (sink) => {
      for (const callId of ['c1', 'c2', 'c3'])
        void sink.write({ type: 'tool-start', callId, name: 't', arguments: '{}' })
      ctx.state.set('k', 1)
      void ctx.emit('x', 1)
      await new Promise((_, reject) => ctx.signal.addEventListener('abort', reject, { once: true }))
    }),
  )
  for await (const event of startRun(agent, input)) if (event.type === 'tool-start') break
  await new Promise((resolve) => setImmediate(resolve))
})

test.each([
  'for await (const e of run) if (e.type === "agent-start") break',
  'setTimeout(() => stop.abort()); await run.then(null, () => {})',
])('a process waits for the end of a run whose agent is deaf: %s', (read) => {
  const program = `
      import { startRun } from ${JSON.stringify(new URL('../run.ts', import.meta.url).href)}
      const stop = new AbortController()
      const agent = { name: 'deaf', description: '', async *run() { await new Promise(() => {}) } }
      const callbacks = [{ name: 'x', run: { onEnd: () => console.log('ended') } }]
      const run = startRun(agent, { messages: [] }, { callbacks, signal: stop.signal })
      ${read}
      console.log('done')`
  const printed = execFileSync(process.execPath, ['--input-type=module', '--eval', program], { encoding: 'utf8' })
  expect(printed).toBe('ended\ndone\n')
})

test('a consumer that never takes the end leaves no listener on the signal', async () => {
  const { signal } = new AbortController()
  const run = startRun(talker('a'), input, { signal })
  const iterator = run[Symbol.asyncIterator]()
  for (let i = 0; i < 5; i++) await iterator.next()
  await run
  expect(getEventListeners(signal, 'abort')).toHaveLength(0)
})
