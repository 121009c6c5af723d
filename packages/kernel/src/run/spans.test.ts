import fc from 'fast-check'
import { beforeEach, expect, test } from 'vitest'
import type { Agent, KernelError, RunInfo, Span } from '../index.ts'
import { say } from '../index.ts'
import { createRunContext, openSpan, runNested, startRun } from '../run.ts'
import { idle, noUnhandledRejection, raise } from '../stream/stream.fixture.ts'
import { agentOf, answer, callOf, fakeClock, input, never, request, settled, talker, toolCall } from './run.fixture.ts'

beforeEach(noUnhandledRejection)

interface Node {
  readonly models: readonly ('end' | 'fail' | 'open' | 'twice')[]
  readonly fate: 'complete' | 'throw' | 'interrupt' | 'deaf'
  readonly calls: readonly Node[]
}
const { tree } = fc.letrec<{ tree: Node }>((tie) => ({
  tree: fc.record({
    models: fc.array(fc.constantFrom('end', 'fail', 'open', 'twice'), { maxLength: 3 }),
    fate: fc.constantFrom('complete', 'throw', 'interrupt', 'deaf'),
    calls: fc.oneof({ maxDepth: 4 }, fc.constant([]), fc.array(tie('tree'), { maxLength: 3 })),
  }),
}))

function endModel(span: Span<'model'> | undefined, how: Node['models'][number]): void {
  if (how === 'fail') span?.fail('model')
  else if (how !== 'open') span?.end(answer)
  if (how === 'twice') span?.fail(new Error('second'))
}

/** An agent that makes the spans of a node, its calls in parallel. */
function grow({ models, fate, calls }: Node): Agent {
  return agentOf('a', async function* (ctx) {
    for (const [turn, how] of models.entries()) endModel(openSpan(ctx, 'model', 'm', request(`model:${turn}`)), how)
    const settle = async (child: Node, index: number): Promise<void> => {
      const call = callOf(ctx, index, { callId: `${ctx.runId}:${index}` })
      const span = openSpan(call, 'tool', 't', toolCall(call, 'c'))
      await runNested(grow(child), input, call).then(
        ({ text }) => span?.end({ content: text }),
        (error: unknown) => span?.fail(error),
      )
    }
    await Promise.all(calls.map(settle))
    if (fate === 'throw') raise(new Error('agent'))
    if (fate === 'interrupt') await ctx.interrupt({ reason: 'input' })
    if (fate === 'deaf') await never
    yield* say(ctx, 'done')
  })
}

test('in any tree of runs, cut off or not, each span has an open parent and one end, before its run', async () => {
  await fc.assert(
    fc.asyncProperty(tree, async (root) => {
      const open = new Map<string, RunInfo>()
      const known = new Map<string, RunInfo>()
      const onStart = (info: RunInfo): void => {
        expect(known.has(info.spanId), `${info.spanId} is new`).toBe(false)
        const parent = open.get(info.parentSpanId ?? '')
        const expected = { run: info.runId === 'R' ? undefined : 'tool', agent: 'run', model: 'agent', tool: 'agent' }
        expect([info.spanId, parent?.component]).toEqual([info.spanId, expected[info.component]])
        if (info.component === 'run') expect(info.parentRunId).toBe(parent?.runId)
        else expect(info.runId).toBe(parent?.runId)
        known.set(info.spanId, info)
        open.set(info.spanId, info)
      }
      const onEnd = (info: RunInfo): void => {
        expect(open.delete(info.spanId), `${info.spanId} is open`).toBe(true)
        const inside = [...open.values()].filter(({ runId }) => `${runId}/`.startsWith(`${info.runId}/`))
        if (info.component === 'run') expect(inside, `left open in ${info.runId}`).toEqual([])
      }
      const all = { onStart, onEnd, onError: onEnd }
      const reports: unknown[] = []
      const clock = fakeClock()
      const controller = new AbortController()
      const run = startRun(grow(root), input, {
        runId: 'R',
        callbacks: [{ name: 'spans', run: all, agent: all, model: all, tool: all }],
        report: (error) => void reports.push(error.cause ?? error),
        canInterrupt: true,
        signal: controller.signal,
        clock,
      })
      const done = settled(run)
      await idle()
      controller.abort()
      await clock.pass(1_000)
      await done
      const runs = (node: Node): number => 1 + node.calls.map(runs).reduce((a, b) => a + b, 0)
      expect(reports).toEqual([])
      expect([...open.keys()]).toEqual([])
      expect([...known.values()].filter(({ component }) => component === 'run')).toHaveLength(runs(root))
    }),
    { numRuns: 60 },
  )
})

test('a span left open by an agent that was left behind ends with its run, and later hooks are not called', async () => {
  const clock = fakeClock()
  const seen: string[] = []
  const hooks = (name: string) => ({
    onStart: () => void seen.push(`+${name}`),
    onEnd: (_: RunInfo, output: unknown) => void seen.push(`-${name} ${JSON.stringify(output).includes('cancelled')}`),
    onError: (_: RunInfo, { code }: KernelError) => void seen.push(`!${name} ${code}`),
  })
  const wake = Promise.withResolvers<void>()
  const controller = new AbortController()
  const run = startRun(
    agentOf('a', async function* (ctx) {
      const span = openSpan(ctx, 'model', 'm', request('model:0'))
      const call = callOf(ctx, 0)
      const tool = openSpan(call, 'tool', 't', toolCall(call, 'c'))
      await wake.promise
      span?.end(answer)
      tool?.fail(new Error('late'))
      yield* say(ctx, 'late')
    }),
    input,
    {
      clock,
      signal: controller.signal,
      callbacks: [{ name: 'h', run: hooks('run'), agent: hooks('agent'), model: hooks('model'), tool: hooks('tool') }],
    },
  )
  const done = settled(run)
  await idle()
  controller.abort()
  await clock.pass(1_000)
  expect(await done).toBe('ABORTED')
  wake.resolve()
  await idle()
  expect(seen.slice(0, 4)).toEqual(['+run', '+agent', '+model', '+tool'])
  expect(seen.slice(4, 6).sort()).toEqual(['!model ABORTED', '!tool ABORTED'])
  expect(seen.slice(6)).toEqual(['-agent true', '-run true'])
})

test('without a callback there is no span', () => {
  const ctx = createRunContext({ callbacks: [{ name: 'deaf', run: { onStart() {} } }] })
  expect([
    openSpan(ctx, 'model', 'm', request('model:0')),
    openSpan(createRunContext(), 'model', 'm', request('x')),
  ]).toEqual([undefined, undefined])
})

test('a span left open by an agent that ended is cut off, and the run is complete all the same', async () => {
  const errors: KernelError[] = []
  const onError = (_: RunInfo, error: KernelError) => void errors.push(error)
  const agent = agentOf('a', async function* (ctx) {
    openSpan(ctx, 'model', 'm', request('model:0'))
    yield* say(ctx, 'done')
  })
  const run = startRun(agent, input, { callbacks: [{ name: 'errors', model: { onError } }] })
  expect(await run).toMatchObject({ outcome: 'complete', text: 'done' })
  expect(errors).toMatchObject([{ code: 'ABORTED', message: 'run: ended while this was under way' }])
})

test('a span says what it is of, where it stands and whose thread it is in', async () => {
  const session = { app: 'app', user: 'ann', threadId: 't' }
  const infos: RunInfo[] = []
  const parts = new Set<RunInfo>()
  const hooks = { onStart: (info: RunInfo) => void infos.push(info) }
  const run = { ...hooks, onPart: (info: RunInfo) => void parts.add(info) }
  const agent = agentOf('a', async function* (ctx) {
    openSpan(ctx, 'model', 'm', request('model:0'))?.end(answer)
    const call = callOf(ctx, 0)
    const span = openSpan(call, 'tool', 't', toolCall(call, 'c'))
    await runNested(talker('inner'), input, call)
    span?.end({ content: 'ok' })
    yield* say(ctx, 'done')
  })
  const callbacks = [{ name: 'spans', run, agent: hooks, model: hooks, tool: hooks }]
  await startRun(agent, input, { runId: 'R', session, callbacks })
  const nested = { name: 'inner', agentName: 'inner', runId: 'R/tool:0:0', parentRunId: 'R', session }
  const outer = { component: 'run', name: 'a', agentName: 'a', runId: 'R', spanId: 'R/run', session }
  const inner = { component: 'run', ...nested, spanId: 'R/tool:0:0/run', parentSpanId: 'R/tool:0:0' }
  expect(infos).toStrictEqual([
    outer,
    { component: 'agent', name: 'a', agentName: 'a', runId: 'R', spanId: 'R/agent', parentSpanId: 'R/run', session },
    {
      component: 'model',
      name: 'm',
      agentName: 'a',
      runId: 'R',
      spanId: 'R/model:0',
      parentSpanId: 'R/agent',
      session,
    },
    {
      component: 'tool',
      name: 't',
      agentName: 'a',
      runId: 'R',
      spanId: 'R/tool:0:0',
      parentSpanId: 'R/agent',
      callId: 'c',
      session,
    },
    inner,
    { component: 'agent', ...nested, spanId: 'R/tool:0:0/agent', parentSpanId: 'R/tool:0:0/run' },
  ])
  expect([...parts]).toStrictEqual([outer, inner])
})
