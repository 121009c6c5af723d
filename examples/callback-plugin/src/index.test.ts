import { type Agent, say } from '@troupe/kernel'
import { openSpan, runNested, startRun } from '@troupe/kernel/run'
import { testCallback } from '@troupe/testkit'
import { expect, it } from 'vitest'
import { type RunBill, tokenMeter } from './index.ts'

// The conformance suite: what a run expects of a callback.
testCallback('tokenMeter', () => tokenMeter({ onRun: () => undefined }))

const input = { messages: [{ id: 'u1', role: 'user', content: 'Hello' }] } as const
const request = { instruction: '', messages: [], tools: [], options: {}, step: 'model:0', idempotencyKey: 'k' }
const message = { id: 'm1', role: 'assistant', content: 'Hi' } as const

/** An agent that uses tokens, and perhaps another agent. */
const using = (model: string, inner?: Agent): Agent => ({
  name: model,
  description: '',
  async *run(_input, ctx) {
    const usage = { inputTokens: 1000, outputTokens: 500 }
    openSpan(ctx, 'model', model, request)?.end({ message, usage, finishReason: 'stop', model })
    const call = { callId: 'c1', onAction() {}, onInterrupt() {} }
    if (inner) await runNested(inner, input, ctx.derive({ step: 'tool:0:0', call }))
    yield* say(ctx, 'Hi')
  },
})

it('adds the runs inside a run to its bill, by model', async () => {
  const bills: RunBill[] = []
  const prices = { large: { input: 2, output: 10 } }
  const meter = tokenMeter({ prices, onRun: (bill) => void bills.push(bill) })
  await startRun(using('large', using('small', using('large'))), input, { runId: 'run-1', callbacks: [meter] })
  expect(bills).toEqual([
    {
      runId: 'run-1',
      models: {
        large: { inputTokens: 2000, outputTokens: 1000 },
        small: { inputTokens: 1000, outputTokens: 500 },
      },
      cost: 0.014,
    },
  ])
})

it('bills a run that failed', async () => {
  const bills: RunBill[] = []
  const failing: Agent = {
    name: 'failing',
    description: '',
    run() {
      throw new Error('no')
    },
  }
  const run = startRun(using('small', failing), input, {
    callbacks: [tokenMeter({ onRun: (bill) => void bills.push(bill) })],
  })
  await expect(Promise.resolve(run)).rejects.toThrow('no')
  expect(bills).toMatchObject([{ models: { small: { inputTokens: 1000 } }, cost: 0 }])
})
