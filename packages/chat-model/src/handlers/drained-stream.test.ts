import { type AgentHandler, type Part, type StreamToolCallResult, withInvokableToolWrapper } from '@troupe/kernel'
import { beforeEach, expect, test } from 'vitest'
import { calling, expectSound, never, noUnhandledRejection, runAgent, streaming, tool } from '../chat-model.fixture.ts'

beforeEach(noUnhandledRejection)

type Chunks = AsyncIterable<string | Part>

async function* none(): AsyncGenerator<string> {}

/** A handler that replaces the stream and leaves the result as it is. */
const showing = (name: string, show: (chunks: Chunks) => Chunks): AgentHandler => ({
  name,
  async wrapStreamableToolCall(ctx, input, next): Promise<StreamToolCallResult> {
    const { stream, result } = await next(ctx, input)
    return { stream: show(stream), result }
  },
})
const silent = (name = 'silent') => showing(name, none)
/** Reads one chunk and stops, without leaving the stream. */
const once = showing('once', async function* (chunks) {
  const { value } = await chunks[Symbol.asyncIterator]().next()
  yield value
})
const leaving = showing('leaving', async function* (chunks) {
  for await (const chunk of chunks) {
    yield chunk
    return
  }
})

async function shown(handlers: readonly AgentHandler[], pieces = ['a', 'b', 'c', 'd']) {
  const finished = await runAgent([calling('s'), 'Done.'], { tools: [streaming('s', pieces)], handlers })
  expectSound(finished)
  const deltas = finished.events.flatMap((event) => (event.type === 'tool-delta' ? [event.delta] : []))
  return [deltas.join(''), finished.toolEnds.map(({ content }) => content), finished.end?.text]
}

test('a stream that a wrap never reads is drained when its own has ended; the result arrives', async () => {
  expect(await shown([silent()])).toEqual(['', ['abcd'], 'Done.'])
})

test.each([
  ['outside', [silent('h0'), showing('h1', (chunks) => chunks)]],
  ['inside', [showing('h0', (chunks) => chunks), silent('h1')]],
  ['twice', [silent('h0'), silent('h1')]],
  ['around an adapted wrap', [silent(), withInvokableToolWrapper((ctx, input, next) => next(ctx, input))]],
  ['inside an adapted wrap', [withInvokableToolWrapper((ctx, input, next) => next(ctx, input)), silent()]],
] as const)('the same %s', async (_, handlers) => {
  expect(await shown(handlers)).toEqual(['', ['abcd'], 'Done.'])
})

test('the rest of a stream that a wrap has not left is drained at the end', async () => {
  expect(await shown([once])).toEqual(['a', ['abcd'], 'Done.'])
})

test('a stream that a wrap has left stops the tool, which has failed', async () => {
  const steps: string[] = []
  const s = streaming('s', [], {
    async *stream() {
      try {
        for (const step of ['a', 'b', 'c', 'd']) {
          steps.push(step)
          yield step
        }
      } finally {
        steps.push('stopped')
      }
    },
  })
  const finished = await runAgent([calling('s'), 'Done.'], { tools: [s], handlers: [leaving] })
  expect(finished.toolEnds).toMatchObject([{ status: 'failed', error: { code: 'TOOL_FAILED' } }])
  expect([steps.at(-1), steps.includes('d'), finished.end?.text]).toEqual(['stopped', false, 'Done.'])
})

test('a wrap that has left and answers by itself does not wait for a tool that does not stop', async () => {
  const stuck = streaming('s', [], {
    async *stream() {
      yield 'a'
      await never
    },
  })
  const own: AgentHandler = {
    name: 'own',
    async wrapStreamableToolCall(ctx, input, next) {
      const { stream } = await next(ctx, input)
      for await (const _ of stream) break
      return { stream: none(), result: Promise.resolve({ content: 'Enough.' }) }
    },
  }
  const { toolEnds } = await runAgent([calling('s'), 'Done.'], { tools: [stuck], handlers: [own] })
  expect(toolEnds).toMatchObject([{ status: 'complete', content: 'Enough.' }])
})

test('an inner handler that fails while its stream is drained is named', async () => {
  const failing = showing('failing', async function* () {
    yield Promise.reject(new Error('no'))
  })
  const { errors } = await runAgent([calling('s')], { tools: [streaming('s')], handlers: [silent(), failing] })
  expect(errors).toMatchObject([{ code: 'HANDLER_FAILED', details: { handler: 'failing' } }])
})

test('a tool that fails while its stream is drained has failed', async () => {
  const s = streaming('s', [], {
    async *stream() {
      yield 'half '
      throw new Error('no')
    },
  })
  const { toolEnds } = await runAgent([calling('s'), 'Done.'], { tools: [s], handlers: [silent()] })
  expect(toolEnds).toMatchObject([{ status: 'failed', error: { code: 'TOOL_FAILED' } }])
})

test('a tool that answers at once is adapted', async () => {
  const { toolEnds } = await runAgent([calling('t'), 'Done.'], { tools: [tool('t')], handlers: [silent()] })
  expect(toolEnds).toMatchObject([{ status: 'complete', content: 't done' }])
})
