import { describe, expect, test } from 'vitest'
import { KernelError, stream } from '../index.ts'
import { idle } from '../stream/stream.fixture.ts'
import { agentOf, fakeClock, input, never, quiet, settled, startHosted } from './run.fixture.ts'

const deaf = agentOf('deaf', () => stream(() => never))

/** A run of a deaf agent under a host that saves, aborted after its first event. */
function hosted(save: () => Promise<void>) {
  const clock = fakeClock()
  const controller = new AbortController()
  const seen: string[] = []
  const reports: KernelError[] = []
  const run = startHosted(deaf, input, {
    clock,
    signal: controller.signal,
    report: (error) => void reports.push(error),
    open: async () => ({
      close: async () => {
        seen.push('close')
      },
    }),
    around: (_ctx, run) =>
      stream(async (sink) => {
        for await (const event of run.agent(input)) {
          seen.push(event.type)
          await sink.write(event)
        }
        await save()
        seen.push('saved')
      }),
  })
  const ended = run.then(
    () => 'complete',
    (error: KernelError) => error.code,
  )
  return { clock, controller, seen, reports, ended }
}

describe('a host, after an abort', () => {
  test('sees its agent end in time and can still save', async () => {
    const { clock, controller, seen, ended } = hosted(async () => undefined)
    await clock.pass(0)
    controller.abort()
    await clock.pass(1_000)
    expect(await ended).toBe('ABORTED')
    expect(seen).toEqual(['agent-start', 'agent-end', 'saved', 'close'])
    expect(clock.pending()).toBe(0)
  })

  test('may take longer than the agent, but not for ever', async () => {
    const { clock, controller, seen, ended } = hosted(() => never)
    await clock.pass(0)
    controller.abort()
    await clock.pass(9_000)
    expect(seen).toEqual(['agent-start', 'agent-end'])
    await clock.pass(2_000)
    expect(await ended).toBe('ABORTED')
    expect(seen.at(-1)).toBe('close')
  })

  test('that fails is reported, where the abort would hide it', async () => {
    const lost = new KernelError('LEASE_LOST', 'lease: taken over')
    const { clock, controller, reports, ended } = hosted(() => Promise.reject(lost))
    await clock.pass(0)
    controller.abort()
    await clock.pass(1_000)
    expect(await ended).toBe('ABORTED')
    expect(reports).toEqual([lost])
  })
})

test('a host whose write is no longer taken is not reported', async () => {
  const reports: unknown[] = []
  const talking = quiet('a', async (ctx) => {
    for (let i = 0; i < 5; i++) await ctx.emit('note', i)
  })
  const run = startHosted(talking, input, {
    report: (error) => void reports.push(error),
    around: (_ctx, run) =>
      stream(async (sink) => {
        const waits: unknown[] = []
        for await (const event of run.agent(input)) waits.push(sink.write(event))
        await Promise.all(waits)
      }),
  })
  const iterator = run[Symbol.asyncIterator]()
  for (let i = 0; i < 3; i++) await iterator.next()
  await idle()
  await iterator.return?.()
  expect([await settled(run), reports]).toEqual(['ABORTED', []])
})

test('a host that loads a history with open calls has them in the result', async () => {
  const silent = agentOf('silent', () => stream(async () => undefined))
  const toolCalls = [{ id: 'c1', name: 'wait', arguments: '{}' }]
  const messages = [{ id: 'm', role: 'assistant', content: '', toolCalls }] as const
  const result = await startHosted(silent, input, { around: (_ctx, run) => run.agent({ messages }) })
  expect(result.openCallIds).toEqual(['c1'])
})
