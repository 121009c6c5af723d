import { EventType } from '@ag-ui/core'
import { type AgentEvent, KernelError, type Run, type Runner, type Sink, say } from '@troupe/kernel'
import { PIPE } from '@troupe/kernel/kit'
import { describe, expect, test, vi } from 'vitest'
import type { AgUiEvent } from '../protocol.ts'
import { agentOf, calm, collect, echo, endOf, request, stage, textIn, user } from './agent.fixture.ts'

/** A third-party Runner. */
function strange(events: () => AsyncIterable<AgentEvent>): Runner {
  const run = () => {
    const source = events()
    return { runId: 'r1', eventsWithoutThrowing: () => source } as Run
  }
  return { agent: echo, run, resume: run, cancel: async () => false }
}
const stamp = { runId: 'r1', agentName: 'desk', runPath: [] }
const serve = async (run: () => AsyncIterable<AgentEvent>) => {
  const { agent } = stage(echo, { resolveRunner: () => strange(run) })
  const events = await collect(agent.run(request({ runId: 'r1', messages: [user('a')] })))
  expect(agent.activeExecutions).toBe(0)
  return events
}

describe('错误处理: the stream is correct whatever a Runner does', () => {
  test('it throws at once', async () => {
    const events = await serve(() => {
      throw new Error('broken')
    })
    expect(endOf(events)).toBe('AGENT_ERROR')
  })

  test('it breaks off after its start', async () => {
    const events = await serve(async function* () {
      yield { ...stamp, type: 'run-start' }
      throw new KernelError('STORE_FAILED', 'broken')
    })
    expect(endOf(events)).toBe('BACKGROUND_EXECUTION_ERROR')
  })

  test('it ends in the middle of a message, without run-end', async () => {
    const events = await serve(async function* () {
      yield { ...stamp, type: 'run-start' }
      yield { ...stamp, type: 'message-start', messageId: 'm1' }
      yield { ...stamp, type: 'text-delta', messageId: 'm1', delta: 'Hel' }
    })
    expect([textIn(events), endOf(events)]).toEqual(['Hel', 'BACKGROUND_EXECUTION_ERROR'])
  })

  test('it has no events', async () => {
    expect(endOf(await serve(async function* () {}))).toBe('BACKGROUND_EXECUTION_ERROR')
  })

  test('it yields malformed events', async () => {
    const events = await serve(async function* () {
      yield { ...stamp, type: 'run-start' }
      yield null as never
      yield { type: 'text-delta' } as never
      yield {
        ...stamp,
        type: 'tool-end',
        callId: 'ghost',
        messageId: 'm',
        name: 'x',
        status: 'complete',
        content: 7 as never,
      }
      yield { ...stamp, type: 'run-end', outcome: 'complete', text: '', usage: { inputTokens: 0, outputTokens: 0 } }
    })
    expect(events.at(-1)?.type).toMatch(/RUN_FINISHED|RUN_ERROR/)
  })

  test('if the report function throws, the console gets the error', async () => {
    const log = vi.spyOn(console, 'error').mockReturnValue()
    const { agent } = stage(echo, {
      resolveRunner: () => Promise.reject(new Error('x')),
      report: () => {
        throw new Error('no log')
      },
    })
    expect(endOf(await collect(agent.run(request({ messages: [user('a')] }))))).toBe('AGENT_ERROR')
    expect(log).toHaveBeenCalledExactlyOnceWith(expect.objectContaining({ code: 'AGENT_ERROR' }))
    log.mockRestore()
  })
})

describe('a run that is pushed', () => {
  const pushed = async (agent: ReturnType<typeof stage>['agent'], sink: Sink<AgUiEvent>) =>
    agent.run(request({ messages: [user('a')] }))[PIPE](sink)

  test('keeps its order for a slow sink while tools run in parallel', async () => {
    const noisy = agentOf(async function* (_, ctx) {
      const ids = ['m1', 'm2', 'm3']
      for (const messageId of ids) yield { type: 'message-start', messageId }
      await Promise.all(ids.map((id) => ctx.emit('progress', id)))
      for (const id of ids) yield { type: 'message-end', message: { id, role: 'assistant', content: `text ${id}` } }
    })
    const events: AgUiEvent[] = []
    const slow: Sink<AgUiEvent> = {
      write: (event) => new Promise((resolve) => setImmediate(() => resolve(void events.push(event)))),
    }
    await pushed(stage(noisy).agent, slow)
    await expect(
      collect(
        (async function* () {
          yield* events
        })(),
      ),
    ).resolves.toHaveLength(events.length)
    expect(events.filter(({ type }) => type === EventType.CUSTOM)).toHaveLength(3)
  })

  test('ends when its sink is closed', async () => {
    let closed = false
    const sink: Sink<AgUiEvent> = {
      get closed() {
        return closed
      },
      write() {
        if (!closed) return
        return Promise.reject(new KernelError('ABORTED', 'gone'))
      },
    }
    const talks = agentOf(async function* (_, ctx) {
      for (;;) {
        yield* say(ctx, 'more')
        await new Promise((resolve) => setImmediate(resolve))
        closed = true
      }
    })
    const { agent, clock } = stage(talks)
    await pushed(agent, sink)
    await calm()
    expect([agent.activeExecutions, clock.pending]).toEqual([0, 0])
  })
})
