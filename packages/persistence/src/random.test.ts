import type { AgentEvent, Callback, EventDraft, Outcome, RunInfo, ThreadRef } from '@troupe/kernel'
import { NO_USAGE } from '@troupe/kernel/kit'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { ANN, calm, type Fault, input, type RecordsHarness, recordsHarness } from './persistence.fixture.ts'
import type { Notification } from './record/notification.ts'
import { toolLifecycle } from './tool-lifecycle.ts'

type RunStep =
  | { readonly do: 'start'; readonly run: number }
  | { readonly do: 'say'; readonly run: number; readonly text: string }
  | { readonly do: 'message'; readonly run: number }
  | { readonly do: 'call'; readonly run: number }
  | { readonly do: 'result'; readonly run: number; readonly which: number; readonly failed: boolean }
  | { readonly do: 'usage'; readonly run: number }
  | { readonly do: 'end'; readonly run: number; readonly outcome: Outcome }
type Step = RunStep | { readonly do: 'time'; readonly ms: number } | { readonly do: 'fault'; readonly fault: Fault }

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

const CALL = { name: 'look', arguments: '{}', idempotencyKey: 'k' }
const refOf = (run: number): ThreadRef => ({ ...ANN, threadId: `t${run % 3}` })
const infoOf = (run: number): RunInfo => ({
  component: 'run',
  agentName: 'a',
  name: 'agent',
  runId: `r${run}`,
  spanId: `r${run}/run`,
  session: refOf(run),
})

/**
 * A run whose callbacks are called by hand, with its expected record, computed in the simplest way.
 * A step that makes no sense for the run calls the callbacks all the same, and changes nothing in the record.
 */
class ModelRun {
  text = ''
  status: 'none' | 'generating' | Outcome = 'none'
  tokens = 0
  readonly calls: ('running' | 'complete' | 'failed')[] = []
  readonly ref: ThreadRef
  readonly runId: string
  readonly #run: number
  readonly #info: RunInfo
  readonly #callbacks: readonly Callback[]
  #message = 0
  #lastWithText = -1

  constructor(run: number, callbacks: readonly Callback[]) {
    this.#run = run
    this.#info = infoOf(run)
    this.#callbacks = callbacks
    this.ref = refOf(run)
    this.runId = this.#info.runId
  }

  get #live(): boolean {
    return this.status === 'generating'
  }

  take(step: RunStep): void {
    switch (step.do) {
      case 'start':
        this.#start()
        break
      case 'message':
        this.#nextMessage()
        break
      case 'say':
        this.#say(step.text)
        break
      case 'call':
        this.#call()
        break
      case 'result':
        this.#result(step.which, step.failed)
        break
      case 'usage':
        this.#usage()
        break
      case 'end':
        this.#end(step.outcome)
        break
    }
  }

  #start(): void {
    // A run is run once.
    if (this.status !== 'none' && !this.#live) return
    this.#each(({ run }) => run?.onStart?.(this.#info, input))
    this.status = 'generating'
  }

  #nextMessage(): void {
    this.#message++
    this.#part({ type: 'message-start', messageId: `m${this.#message}` })
  }

  #say(delta: string): void {
    this.#part({ type: 'text-delta', messageId: `m${this.#message}`, delta })
    if (!this.#live) return
    this.text = (this.#lastWithText === this.#message ? this.text : '') + delta
    this.#lastWithText = this.#message
  }

  #call(): void {
    const id = this.calls.length
    const call = { ...CALL, callId: `c${this.#run}-${id}`, step: `tool:${id}:0` }
    this.#each(({ tool }) => tool?.onStart?.(this.#toolInfo(id), call))
    if (this.#live) this.calls.push('running')
  }

  #result(which: number, failed: boolean): void {
    if (which >= this.calls.length && this.#live) return
    const result = { content: 'x', ...(failed && { error: { code: 'TOOL_FAILED', message: 'no' } }) }
    this.#each(({ tool }) => tool?.onEnd?.(this.#toolInfo(which), result))
    if (this.#live && this.calls[which] === 'running') this.calls[which] = failed ? 'failed' : 'complete'
  }

  #usage(): void {
    const message = { id: `${this.runId}-u${this.tokens}`, role: 'assistant', content: '' } as const
    this.#part({ type: 'message-end', message, usage: { inputTokens: 1, outputTokens: 0 } })
    if (this.#live) this.tokens++
  }

  #end(outcome: Outcome): void {
    const result = { outcome, text: this.text, messages: [], usage: NO_USAGE }
    this.#each(({ run }) => run?.onEnd?.(this.#info, result))
    if (this.#live) this.status = outcome
  }

  #part(draft: EventDraft): void {
    const event = { runId: this.runId, agentName: 'agent', runPath: [], ...draft } as AgentEvent
    this.#each(({ run }) => run?.onPart?.(this.#info, event))
  }

  #toolInfo(id: number): RunInfo {
    return { ...this.#info, component: 'tool', callId: `c${this.#run}-${id}` }
  }

  #each(call: (callback: Callback) => unknown): void {
    for (const callback of this.#callbacks) void call(callback)
  }
}

async function take(step: Step, runs: readonly ModelRun[], { store, clock }: RecordsHarness): Promise<void> {
  if (step.do === 'fault') store.fault = step.fault
  else if (step.do === 'time') {
    await calm()
    clock.advance(step.ms)
    await calm()
  } else runs[step.run]?.take(step)
}

/** Lets the store recover and everything be written. */
async function settle({ store, clock, messages }: RecordsHarness): Promise<void> {
  store.fault = undefined
  for (let i = 0; i < 3; i++) {
    clock.advance(40_000)
    await calm()
  }
  await messages.flush()
}

async function expectRecord(model: ModelRun, { store, notifications, done }: RecordsHarness): Promise<void> {
  const { ref, runId, status, text, tokens, calls } = model
  const record = (await store.records.runs(ref)).find((each) => each.runId === runId)
  expect(record?.status ?? 'none').toBe(status)
  if (!record) return
  expect(record.text).toBe(text)
  if (status !== 'generating') expect(record.usage?.inputTokens).toBe(tokens)
  const rows = await store.records.toolCalls(ref, runId)
  expect(rows.map((row) => row.status)).toEqual(calls)
  const ends = status === 'generating' ? 0 : 1
  expectNotifications(
    notifications.filter(({ messageId, call }) => messageId === runId && !call),
    text,
    ends,
  )
  expect(done.filter(([run]) => run.runId === runId)).toHaveLength(ends)
}

function expectNotifications(received: readonly Notification[], text: string, ends: number): void {
  expect(received.filter(({ type }) => type === 'init')).toHaveLength(1)
  expect(received[0]?.type).toBe('init')
  const shown = received.reduce((seen, next) => seen.slice(0, next.startAt) + next.text, '')
  expect(shown).toBe(text)
  expect(received.filter(({ type }) => type === 'done' || type === 'failed')).toHaveLength(ends)
}

describe('any order of runs, calls, pauses and faults', () => {
  it('comes to the records of a simple model, with one end each', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 60 }), async (steps) => {
        const harness = await recordsHarness()
        const { store, clock, messages } = harness
        for (const threadId of ['t0', 't1', 't2']) await store.threads.open({ ...ANN, threadId })
        const callbacks = [messages, toolLifecycle({ messages })]
        const runs = Array.from({ length: RUNS }, (_, run) => new ModelRun(run, callbacks))
        for (const step of steps) await take(step, runs, harness)
        await settle(harness)
        for (const run of runs) await expectRecord(run, harness)
        await messages[Symbol.asyncDispose]()
        expect(clock.pending).toBe(0)
      }),
      { numRuns: 150 },
    )
  }, 60_000)
})
