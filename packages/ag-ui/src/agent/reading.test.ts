import { EventType } from '@ag-ui/core'
import type { AgentEvent, Run, Runner, Sink } from '@troupe/kernel'
import { PIPE } from '@troupe/kernel/kit'
import { describe, expect, test } from 'vitest'
import { calm, echo, request, stage, user } from './agent.fixture.ts'

const stamp = { runId: 'r1', agentName: 'desk', runPath: [] }

/** An agent that makes three custom events and then waits until it is stopped, with a log of what it does. */
function counting(log: string[]) {
  async function* events(signal: AbortSignal | undefined): AsyncGenerator<AgentEvent> {
    yield { ...stamp, type: 'run-start' }
    for (let i = 1; i <= 3; i++) {
      log.push(`write ${i}`)
      yield { ...stamp, type: 'custom', name: 'count', data: i }
      log.push(`wrote ${i}`)
    }
    await new Promise((resolve) => signal?.addEventListener('abort', resolve))
    log.push('stopped')
  }
  const run: Runner['run'] = (_, options) =>
    ({ runId: 'r1', eventsWithoutThrowing: () => events(options?.signal) }) as unknown as Run
  const { agent } = stage(echo, {
    resolveRunner: () => ({ agent: echo, run, resume: run as never, cancel: async () => false }),
  })
  return { agent, stream: () => agent.run(request({ runId: 'r1', messages: [user('a')] })) }
}

/** Reads as far as a custom event with this value. */
async function readTo(count: number, reader: AsyncIterator<{ type: EventType }>): Promise<void> {
  for (;;) {
    const { value } = await reader.next()
    if (value?.type === EventType.CUSTOM && value.value === count) return
  }
}

describe('the stream of an agent', () => {
  test('goes on when the reader comes back for more', async () => {
    const log: string[] = []
    const reader = counting(log).stream()[Symbol.asyncIterator]()
    await calm()
    expect(log).toEqual([])
    await readTo(1, reader)
    await calm()
    expect(log).toEqual(['write 1'])
    await readTo(2, reader)
    await calm()
    expect(log).toEqual(['write 1', 'wrote 1', 'write 2'])
    await reader.return?.()
  })

  test('can be left while nothing comes, which ends pending reads', async () => {
    const log: string[] = []
    const { agent, stream } = counting(log)
    const reader = stream()[Symbol.asyncIterator]()
    await readTo(3, reader)
    const waiting = reader.next()
    await calm()
    await reader.return?.()
    expect(await waiting).toEqual({ value: undefined, done: true })
    expect([log.at(-1), agent.activeExecutions]).toEqual(['stopped', 0])
    expect(await reader.next()).toEqual({ value: undefined, done: true })
  })

  test('does no further work once it is left', async () => {
    const log: string[] = []
    const { agent, stream } = counting(log)
    const reader = stream()[Symbol.asyncIterator]()
    await readTo(1, reader)
    await reader.return?.()
    expect([log, agent.activeExecutions]).toEqual([['write 1'], 0])
  })

  test('never begins if it is left before', async () => {
    const log: string[] = []
    const reader = counting(log).stream()[Symbol.asyncIterator]()
    await reader.return?.()
    expect([await reader.next(), log]).toEqual([{ value: undefined, done: true }, []])
  })

  test('can be read once, by iterating or by piping', async () => {
    const stream = counting([]).stream()
    stream[Symbol.asyncIterator]()
    expect(() => stream[Symbol.asyncIterator]()).toThrow(expect.objectContaining({ code: 'STREAM_CONSUMED' }))
    await expect(stream[PIPE]({ write: () => undefined })).rejects.toMatchObject({ code: 'STREAM_CONSUMED' })
  })

  test('rejects if its sink does', async () => {
    const sink: Sink<unknown> = { write: () => Promise.reject(new Error('broken')) }
    await expect(counting([]).stream()[PIPE](sink)).rejects.toThrow('broken')
  })
})
