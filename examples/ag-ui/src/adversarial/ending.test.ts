import { setTimeout as pause } from 'node:timers/promises'
import { type AgUiEvent, agUiHandler, type ServedAgent } from '@troupe/ag-ui'
import type { Clock } from '@troupe/kernel'
import { systemClock } from '@troupe/kernel/kit'
import { memoryStore } from '@troupe/kernel/memory-store'
import { describe, expect, it } from 'vitest'
import { scripted } from '../stage.fixture.ts'
import { replyOf, says, serve } from './served.fixture.ts'

/** A clock that knows which of its timers are set. */
function countingClock() {
  const timers = new Set<symbol>()
  const clock: Clock = {
    now: () => systemClock.now(),
    after(ms, run, hold) {
      const timer = Symbol('timer')
      timers.add(timer)
      const cancel = systemClock.after(
        ms,
        () => {
          timers.delete(timer)
          run()
        },
        hold,
      )
      return () => {
        timers.delete(timer)
        cancel()
      }
    },
  }
  return { clock, timers }
}

const RUN = { method: 'POST', headers: { authorization: 'ann', 'content-type': 'application/json' } }

describe('a server that stops', () => {
  it('does not wait for clients that have left before their answer, and leaves no timer behind', async () => {
    const { clock, timers } = countingClock()
    const { agent } = scripted(Array.from({ length: 30 }, () => 'Hi.'))
    const served = await serve(agent, { clock, onDisconnect: 'cancel' })
    for (let i = 0; i < 6; i++) {
      const controller = new AbortController()
      const body = JSON.stringify(says('Hi', { threadId: `gone${i}` }))
      const gone = fetch(served.url, { ...RUN, body, signal: controller.signal })
      setTimeout(() => controller.abort(), i)
      await gone.then((response) => response.text()).catch(() => {})
    }
    const start = performance.now()
    await served[Symbol.asyncDispose]()
    expect(performance.now() - start).toBeLessThan(2_500)
    expect(timers.size).toBe(0)
  })

  it('refuses runs with 503 and ends those under way for their readers', async () => {
    const { agent } = scripted([{ text: 'Half', hang: 'mid' }, 'No.'])
    const served = await serve(agent)
    const response = await served.begin(says('Hang'))
    const stopped = served.handler.stop(50)
    const refused = await served.run(says('Hi', { threadId: 't2' }))
    expect([refused.status, refused.end]).toEqual([503, 'SERVER_STOPPING'])
    expect((await replyOf(response)).end).toBe('cancelled')
    await stopped
    await served[Symbol.asyncDispose]()
  })
})

describe('an agent that is not ours', () => {
  const speaking = (events: (runId: string) => AgUiEvent[]): ServedAgent => ({
    async *run({ runId }) {
      yield* events(runId)
    },
    cancel: async () => false,
  })
  const asked = async (agent: ServedAgent) => {
    const store = memoryStore()
    await store.threads.open({ app: 'test', user: 'ann', threadId: 't1' })
    const handler = agUiHandler({ agent, store, owner: { app: 'test', user: 'ann' }, report: () => {} })
    const reply = await replyOf(
      await handler(new Request('http://localhost/', { ...RUN, body: JSON.stringify(says('Hi', { runId: 'r' })) })),
    )
    const again = await replyOf(await handler(new Request('http://localhost/threads/t1/runs/r?protocolVersion=1.0')))
    await handler.stop()
    return [reply.end, again.end]
  }
  const started = (runId: string) => ({ type: 'RUN_STARTED', threadId: 't1', runId }) as AgUiEvent
  const finished = (runId: string, result?: unknown) =>
    ({ type: 'RUN_FINISHED', threadId: 't1', runId, outcome: { type: 'success' }, result }) as AgUiEvent

  it('has one terminal all the same: none, two, one that is no JSON, words after it', async () => {
    const failed = ['AGENT_ERROR', 'AGENT_ERROR']
    expect(await asked(speaking((id) => [started(id)]))).toEqual(failed)
    expect(await asked(speaking((id) => [started(id), finished(id), finished(id)]))).toEqual(['success', 'success'])
    expect(await asked(speaking((id) => [started(id), finished(id, 1n)]))).toEqual(['ENCODING_ERROR', 'ENCODING_ERROR'])
    expect(await asked(speaking((id) => [started(id), finished(id), started(id)]))).toEqual(['success', 'success'])
  })
})

describe('readers', () => {
  it('of other media and versions see the same run, each in its words', async () => {
    const { agent } = scripted([{ reasoning: 'Hm', text: 'Half', hang: 'after' }])
    await using served = await serve(agent)
    const response = await served.begin(says('Hang', { runId: 'r' }))
    const versions = ['', '1.0', '2.0', '0.9', 'x', '1e9', '-1', '%00']
    const path = (version: string) => `/threads/t1/runs/r?protocolVersion=${version}`
    const followers = await Promise.all(versions.map((version) => served.open(path(version))))
    const accept = 'application/vnd.ag-ui.event+proto'
    const binary = await Promise.all(versions.map((version) => served.open(path(version), { accept })))
    await served.call('POST', '/threads/t1/runs/r/cancel')
    expect((await replyOf(response)).end).toBe('cancelled')
    const ends = (await Promise.all(followers.map(replyOf))).map(({ status, events }) => [status, events.at(-1)?.type])
    expect(ends).toEqual(versions.map(() => [200, 'RUN_FINISHED']))
    for (const { status, text } of await Promise.all(binary.map(replyOf)))
      expect([status, text.length > 0]).toEqual([200, true])
  })

  it('of a run that another process has lost are told so, and the thread goes on', async () => {
    const { agent } = scripted(['Next.'])
    const store = memoryStore()
    await using served = await serve(agent, { store, limits: { lookMs: 30 } })
    const ref = { app: 'test', user: 'ann', threadId: 't1' }
    await store.threads.open(ref)
    await store.runLog.append(ref, 'lost', 0, [{ type: 'RUN_STARTED', threadId: 't1', runId: 'lost' }])
    const [one, two] = await Promise.all([
      served.call('GET', '/threads/t1/runs/lost'),
      served.call('GET', '/threads/t1/runs/lost?after=1'),
    ])
    expect([one.end, two.end]).toEqual(['RUN_LOST', 'RUN_LOST'])
    expect((await served.run(says('Hi'))).end).toBe('success')
  })

  it('that claim to have seen what was never said are not kept for ever', async () => {
    const { agent } = scripted(['Hi.'])
    const store = memoryStore()
    await using served = await serve(agent, { store, limits: { lookMs: 30 } })
    const ref = { app: 'test', user: 'ann', threadId: 't1' }
    await store.threads.open(ref)
    await store.runLog.append(ref, 'lost', 0, [{ type: 'RUN_STARTED', threadId: 't1', runId: 'lost' }])
    const reply = await Promise.race([served.call('GET', '/threads/t1/runs/lost?after=99'), pause(2_000, 'hangs')])
    expect(reply).not.toBe('hangs')
  })
})
