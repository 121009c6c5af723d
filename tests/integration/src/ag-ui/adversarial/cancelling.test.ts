import { describe, expect, it } from 'vitest'
import { PICK, picking, scripted } from '../in-process-client.fixture.ts'
import { replyOf, results, says, serve } from './http-server.fixture.ts'

describe('cancel and delete', () => {
  it('a thread that only waits: nothing to cancel, the calls stay', async () => {
    const { agent } = scripted([picking('c1'), 'Done.'])
    await using served = await serve(agent)
    await served.run(says('Pick', { runId: 'waits', tools: [PICK] }))
    const cancelled = await served.call('POST', '/threads/t1/runs/waits/cancel')
    expect(cancelled.status).toBeLessThan(500)
    expect((await served.run(results(['c1', 'red']))).end).toBe('success')
  })

  it('a run that hangs: cancelled once, terminal for every reader, the thread can be used', async () => {
    const { agent } = scripted([{ text: 'Half', hang: 'mid' }, 'Next.'])
    await using served = await serve(agent)
    const response = await served.begin(says('Hang', { runId: 'hangs' }))
    const follower = served.call('GET', '/threads/t1/runs/hangs?protocolVersion=1.0')
    expect((await served.call('POST', '/threads/t1/runs/other/cancel')).status).toBe(404)
    expect((await served.call('DELETE', '/threads/t1')).status).toBe(409)
    const [one, two] = await Promise.all([
      served.call('POST', '/threads/t1/runs/hangs/cancel'),
      served.call('POST', '/threads/t1/runs/hangs/cancel'),
    ])
    expect([one.status, two.status].every((status) => status < 300 || status === 404)).toBe(true)
    expect((await replyOf(response)).end).toBe('cancelled')
    expect((await follower).end).toBe('cancelled')
    expect((await served.run(says('Next'))).end).toBe('success')
    expect((await served.call('DELETE', '/threads/t1')).status).toBeLessThan(300)
    expect((await served.call('GET', '/threads/t1')).status).toBe(404)
    expect((await served.call('GET', '/threads/t1/runs/hangs')).status).toBe(404)
    expect((await served.call('DELETE', '/threads/t1')).status).toBe(404)
  })

  it('a client that has gone keeps no slot', async () => {
    const { agent } = scripted(Array.from({ length: 30 }, () => ({ text: 'Half', hang: 'mid' }) as const))
    // Ann may have one of the two runs.
    await using served = await serve(agent, { maxConcurrentExecutions: 2, onDisconnect: 'cancel' })
    for (let i = 0; i < 6; i++) {
      const controller = new AbortController()
      const gone = fetch(served.url, {
        method: 'POST',
        headers: { authorization: 'ann', 'content-type': 'application/json' },
        body: JSON.stringify(says('Hi', { threadId: `gone${i}` })),
        signal: controller.signal,
      })
      setTimeout(() => controller.abort(), i)
      await gone.then((response) => response.text()).catch(() => {})
    }
    // The server may read a request, and learn that its client has gone, after the next request.
    for (let i = 0; i < 6; i++) {
      const messages = [{ id: 'x', role: 'tool', toolCallId: 'n', content: '' } as const]
      const refused = async () => (await served.run(says('', { threadId: `no${i}`, messages }))).end
      await expect.poll(refused).toBe('TOOL_CALL_UNKNOWN')
    }
    const begun = async () => {
      const response = await served.begin(says('Hi', { threadId: 'free' }))
      await response.body?.cancel()
      return response.status
    }
    await expect.poll(begun).toBe(200)
  })

  it('the limit is a 503 with retry-after, and its slot comes back', async () => {
    const { agent } = scripted([{ text: 'Half', hang: 'mid' }, 'Next.'])
    await using served = await serve(agent, { maxConcurrentExecutions: 1 })
    const response = await served.begin(says('Hang', { runId: 'hangs' }))
    const full = await served.run(says('Hi', { threadId: 't2' }))
    expect([full.status, full.end, full.headers.get('retry-after')]).toEqual([
      503,
      'EXECUTION_LIMIT',
      expect.any(String),
    ])
    await served.call('POST', '/threads/t1/runs/hangs/cancel')
    await response.text()
    expect((await served.run(says('Hi', { threadId: 't2' }))).end).toBe('success')
  })
})
