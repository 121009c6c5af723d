import type { Callback, Outcome, RunInfo, ThreadRef } from '@troupe/kernel'
import { NO_USAGE } from '@troupe/kernel/kit'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { ANN, calm, type Fault, input, stage } from './persistence.fixture.ts'
import { toolLifecycle } from './tool-lifecycle.ts'

type Step =
  | { readonly do: 'start'; readonly run: number }
  | { readonly do: 'say'; readonly run: number; readonly text: string }
  | { readonly do: 'message'; readonly run: number }
  | { readonly do: 'call'; readonly run: number }
  | { readonly do: 'result'; readonly run: number; readonly which: number; readonly failed: boolean }
  | { readonly do: 'usage'; readonly run: number }
  | { readonly do: 'end'; readonly run: number; readonly outcome: Outcome }
  | { readonly do: 'time'; readonly ms: number }
  | { readonly do: 'fault'; readonly fault: Fault }

const RUNS = 6
const run = fc.nat(RUNS - 1)
const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({ do: fc.constant('start' as const), run }),
  {
    weight: 4,
    arbitrary: fc.record({ do: fc.constant('say' as const), run, text: fc.string({ unit: 'binary', maxLength: 9 }) }),
  },
  fc.record({ do: fc.constant('message' as const), run }),
  fc.record({ do: fc.constant('call' as const), run }),
  fc.record({ do: fc.constant('result' as const), run, which: fc.nat(5), failed: fc.boolean() }),
  fc.record({ do: fc.constant('usage' as const), run }),
  fc.record({
    do: fc.constant('end' as const),
    run,
    outcome: fc.constantFrom('complete', 'failed', 'cancelled', 'interrupted'),
  }),
  { weight: 3, arbitrary: fc.record({ do: fc.constant('time' as const), ms: fc.constantFrom(10, 50, 400, 10_000) }) },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('fault' as const),
      fault: fc.constantFrom<Fault>('fail', 'busy', 'hang', 'lost', undefined),
    }),
  },
)

/** The expected record of a run, computed in the simplest way. */
class Model {
  text = ''
  message = 0
  spoke = -1
  status: 'none' | 'generating' | Outcome = 'none'
  tokens = 0
  readonly calls: ('running' | 'complete' | 'failed')[] = []
}

/** Plays a step on the callbacks and on the model alike; what makes no sense for a run is played all the same, and changes nothing. */
function play(step: Step, models: readonly Model[], callbacks: readonly Callback[]): void {
  if (step.do === 'time' || step.do === 'fault') return
  const model = models[step.run] as Model
  const info = infoOf(step.run)
  const stamp = { runId: info.runId, agentName: 'agent', runPath: [] }
  const live = model.status === 'generating'
  const messageId = `m${model.message}`
  const each = (call: (callback: Callback) => unknown) => callbacks.forEach((callback) => void call(callback))
  switch (step.do) {
    case 'start':
      // A run is run once.
      if (model.status !== 'none' && !live) return
      each(({ run }) => run?.onStart?.(info, input))
      model.status = 'generating'
      return
    case 'message':
      model.message++
      each(({ run }) => run?.onPart?.(info, { type: 'message-start', messageId: `m${model.message}`, ...stamp }))
      return
    case 'say':
      each(({ run }) => run?.onPart?.(info, { type: 'text-delta', messageId, delta: step.text, ...stamp }))
      if (!live) return
      model.text = (model.spoke === model.message ? model.text : '') + step.text
      model.spoke = model.message
      return
    case 'call': {
      const id = model.calls.length
      each(({ tool }) =>
        tool?.onStart?.(toolInfo(step.run, id), { ...CALL, callId: `c${step.run}-${id}`, step: `tool:${id}:0` }),
      )
      if (live) model.calls.push('running')
      return
    }
    case 'result': {
      if (step.which >= model.calls.length && live) return
      const error = { code: 'TOOL_FAILED', message: 'no' }
      each(({ tool }) => tool?.onEnd?.(toolInfo(step.run, step.which), { content: 'x', ...(step.failed && { error }) }))
      if (live && model.calls[step.which] === 'running') model.calls[step.which] = step.failed ? 'failed' : 'complete'
      return
    }
    case 'usage': {
      const message = { id: `${info.runId}-u${model.tokens}`, role: 'assistant', content: '' } as const
      const usage = { inputTokens: 1, outputTokens: 0 }
      each(({ run }) => run?.onPart?.(info, { type: 'message-end', message, usage, ...stamp }))
      if (live) model.tokens++
      return
    }
    case 'end': {
      const result = { outcome: step.outcome, text: model.text, messages: [], usage: NO_USAGE }
      each(({ run }) => run?.onEnd?.(info, result))
      if (live) model.status = step.outcome
    }
  }
}

const CALL = { name: 'look', arguments: '{}', idempotencyKey: 'k' }
const refOf = (run: number): ThreadRef => ({ ...ANN, threadId: `t${run % 3}` })
const infoOf = (run: number): RunInfo => ({
  component: 'run',
  name: 'agent',
  runId: `r${run}`,
  spanId: `r${run}/run`,
  session: refOf(run),
})
const toolInfo = (run: number, id: number): RunInfo => ({ ...infoOf(run), component: 'tool', callId: `c${run}-${id}` })

describe('any order of runs, calls, pauses and faults', () => {
  it('comes to the records of a simple model, with one end each', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 60 }), async (steps) => {
        const scene = await stage()
        const { store, clock, messages, done, notifications } = scene
        for (const threadId of ['t0', 't1', 't2']) await store.threads.open({ ...ANN, threadId })
        const callbacks = [messages, toolLifecycle({ messages })]
        const models = Array.from({ length: RUNS }, () => new Model())
        for (const step of steps) {
          if (step.do === 'fault') store.fault = step.fault
          if (step.do === 'time') {
            await calm()
            clock.advance(step.ms)
            await calm()
          }
          play(step, models, callbacks)
        }
        store.fault = undefined
        for (let i = 0; i < 3; i++) {
          clock.advance(40_000)
          await calm()
        }
        await messages.flush()
        for (const [run, model] of models.entries()) {
          const ref = refOf(run)
          const record = (await store.records.runs(ref)).find(({ runId }) => runId === `r${run}`)
          expect(record?.status ?? 'none').toBe(model.status)
          if (!record) continue
          expect(record.text).toBe(model.text)
          if (record.status !== 'generating') expect(record.usage?.inputTokens).toBe(model.tokens)
          const rows = await store.records.toolCalls(ref, record.runId)
          expect(rows.map(({ status }) => status)).toEqual(model.calls)
          const received = notifications.filter(({ messageId, call }) => messageId === record.runId && !call)
          expect(received.filter(({ type }) => type === 'init')).toHaveLength(1)
          expect(received[0]?.type).toBe('init')
          let seen = ''
          for (const { text, startAt } of received) seen = seen.slice(0, startAt) + text
          expect(seen).toBe(model.text)
          const over = model.status !== 'generating'
          expect(received.filter(({ type }) => type === 'done' || type === 'failed')).toHaveLength(over ? 1 : 0)
          expect(done.filter(([{ runId }]) => runId === record.runId)).toHaveLength(over ? 1 : 0)
        }
        await messages[Symbol.asyncDispose]()
        expect(clock.pending).toBe(0)
      }),
      { numRuns: 150 },
    )
  }, 60_000)
})
