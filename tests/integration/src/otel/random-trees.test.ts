import { chatModelAgent } from '@troupe/chat-model'
import { agentTool } from '@troupe/flow'
import type { Callback, Json, ModelRequest } from '@troupe/kernel'
import { otel } from '@troupe/otel'
import { type ScriptedTurn, scriptedModel } from '@troupe/testkit'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  grow,
  NAMES,
  type Shape,
  shape,
  type ThreadRequest,
  threadRequest,
  turn,
  withReachableAgents,
} from '../transfer/random-tree.fixture.ts'
import { ANN, resultOf, scriptedTree } from '../transfer/scripted-tree.fixture.ts'
import { asks, guarded, slow, tool } from '../transfer/tools.fixture.ts'
import { CountingTracer, wrongWith } from './counting-tracer.fixture.ts'

/** `SEED=17 RUNS=5000` searches elsewhere, however long it takes. */
const { RUNS, SEED } = process.env

/** A callback that throws wherever it can. */
const broken: Callback = {
  name: 'broken',
  ...Object.fromEntries(
    ['run', 'agent', 'model', 'tool'].map((span) => [span, { onStart: raise, onEnd: raise, onError: raise }]),
  ),
}

function raise(): never {
  throw new Error('broken')
}

interface Faults {
  /** Whether another callback throws, and whether the redaction does. */
  readonly callback: boolean
  readonly redaction: boolean
}

const faults: fc.Arbitrary<Faults> = fc.record({ callback: fc.boolean(), redaction: fc.nat(3).map((n) => n === 0) })

async function traced(
  outer: Shape,
  inner: Shape,
  turns: readonly ScriptedTurn[],
  innerTurns: readonly ScriptedTurn[],
  requests: readonly ThreadRequest[],
  { callback, redaction }: Faults,
): Promise<void> {
  const tracer = new CountingTracer()
  const tracing = otel({ tracerProvider: tracer, content: redaction ? raise : (text) => text })
  const handlers = [tracing.handler]
  const throws = tool('throws', { onError: 'throw', invoke: raise })
  const tools = [tool('plain'), guarded([]), asks(), slow(), throws, tool('fails', { invoke: raise })]
  const [left, innerLeft] = [turns.slice(), innerTurns.slice()]
  const model = scriptedModel([(request) => withReachableAgents(innerLeft.shift() ?? 'Inner done.', request)], {
    repeat: true,
  })
  const innerAgents = NAMES.map(
    (key, i) => [key, chatModelAgent({ name: `I${i}`, model, tools, handlers, retry: false })] as const,
  )
  const nested = agentTool(grow(inner, Object.fromEntries(innerAgents)), { name: 'Inner', forward: true })
  const script = Array(200).fill((request: ModelRequest) => withReachableAgents(left.shift() ?? 'Done.', request))
  const extras = { exit: true, tools: [...tools, nested], handlers }
  const callbacks = callback ? [broken, tracing] : [tracing]
  let cancel: ThreadRequest['cancel']
  const tree = scriptedTree<string>(
    Object.fromEntries(NAMES.map((name) => [name, script])),
    (agents) => grow(outer, agents),
    {
      with: Object.fromEntries(NAMES.map((name) => [name, extras])),
      runner: { pending: 'drop', callbacks, report: () => {} },
      onEvent(_, index) {
        if (index === cancel?.at) void tree.runner.cancel(ANN, { mode: cancel.mode })
      },
    },
  )
  const answerTo = (reason: string, yes: boolean): Json => (reason === 'approval' ? { approved: yes } : 'answer')
  await tree.ask('Begin.')
  expect(wrongWith(tracer.spans)).toEqual([])
  for (const request of requests) {
    const { checkpoint, openCalls = [] } = (await tree.thread()) ?? {}
    cancel = request.cancel
    const asked = checkpoint?.interrupts ?? []
    if (asked.length > 0) {
      await tree.answer(Object.fromEntries(asked.map(({ id, reason }) => [id, answerTo(reason, request.yes)])))
    } else if (openCalls.length > 0) await tree.give(...openCalls.map(({ callId }) => resultOf(callId)))
    else await tree.ask('Go on.')
    expect(wrongWith(tracer.spans)).toEqual([])
  }
}

test(
  'whatever models say in whatever tree, every span begins below the right one and ends once',
  async () => {
    await fc.assert(
      fc.asyncProperty(
        shape,
        shape,
        fc.array(turn, { minLength: 2, maxLength: 14 }),
        fc.array(turn, { maxLength: 5 }),
        fc.array(threadRequest, { maxLength: 4 }),
        faults,
        traced,
      ),
      { numRuns: Number(RUNS ?? 150), ...(SEED !== undefined && { seed: Number(SEED) }) },
    )
  },
  RUNS === undefined ? 60_000 : 3_600_000,
)
