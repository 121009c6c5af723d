import { HttpAgent } from '@ag-ui/client'
import { HttpAgent as OldHttpAgent } from '@ag-ui/client-0'
import { EventSchemas } from '@ag-ui/core/schemas'
import { defineTool } from '@troupe/kernel'
import { describe, expect, it, vi } from 'vitest'
import { PICK, picking, scripted } from '../in-process-client.fixture.ts'
import { replyOf, says, serve } from './http-server.fixture.ts'

const ANN = { authorization: 'ann' }
const PROTOBUF = 'application/vnd.ag-ui.event+proto'

describe('a client that joins later', () => {
  it('gets events of today, also where an older client has sent the message', async () => {
    const { agent } = scripted([{ text: 'Half', hang: 'mid' }])
    await using served = await serve(agent)
    const content = [
      { type: 'text', text: 'Look' },
      { type: 'binary', mimeType: 'image/png', data: 'aGk=' },
    ]
    const old = { ...says('', { runId: 'old' }), protocolVersion: undefined, forwardedProps: null, state: null }
    const response = await served.begin({ ...old, messages: [{ id: 'u', role: 'user', name: null, content }] })
    expect(response.status).toBe(200)
    const followed = await served.open('/threads/t1/runs/old?protocolVersion=1.0')
    const joined = await served.open('/threads/t1/connect?protocolVersion=1.0')
    await served.call('POST', '/threads/t1/runs/old/cancel')
    await response.text()
    for (const { events } of await Promise.all([followed, joined].map(replyOf))) {
      expect(events.length).toBeGreaterThan(2)
      for (const event of events) expect(EventSchemas.safeParse(event).error?.issues).toBeUndefined()
      expect(JSON.stringify(events[0])).toContain('aGk=')
    }
  })

  it('does not see questions as open that are answered', async () => {
    const pay = defineTool({
      name: 'pay',
      description: 'Pays.',
      parameters: { type: 'object' },
      needsApproval: () => true,
      invoke: (_, ctx) => new Promise<string>((resolve) => ctx.signal.addEventListener('abort', () => resolve('no'))),
    })
    const { agent } = scripted([{ toolCalls: [{ id: 'p', name: 'pay' }] }, 'Paid.'], [pay])
    await using served = await serve(agent)
    expect((await served.run(says('Pay'))).end).toBe('interrupt')
    const asking = JSON.parse((await served.call('GET', '/threads/t1')).text)
    expect(asking).toMatchObject({ waiting: true, interrupts: [{ toolCallId: 'p' }] })
    const resume = [{ interruptId: asking.interrupts[0].id, status: 'resolved' as const, payload: { approved: true } }]
    const response = await served.begin({ ...says('', { runId: 'resumed' }), messages: [], resume })
    const thread = JSON.parse((await served.call('GET', '/threads/t1')).text)
    expect(thread).toMatchObject({ runId: 'resumed', waiting: false, interrupts: [] })
    await served.call('POST', '/threads/t1/runs/resumed/cancel')
    await response.text()
  })

  it.each([
    ['1.0.0', '1.0'],
    ['0.0.59', ''],
  ])('by protobuf, a client %s gets a history with thinking, files and results', async (_, version) => {
    const weather = defineTool({
      name: 'look',
      description: 'Looks.',
      parameters: { type: 'object' },
      invoke: () => ({
        content: [
          { type: 'text', text: 'Sunny' },
          { type: 'file', mediaType: 'image/png', data: 'aGk=' },
        ],
      }),
    })
    const turns = [
      { reasoning: 'Hm.', text: 'Wait.', toolCalls: [{ id: 'c', name: 'look' }] },
      { reasoning: 'So.', text: 'Sunny.' },
      picking('c1'),
    ]
    const { agent } = scripted(turns, [weather])
    await using served = await serve(agent)
    const content = [
      { type: 'text', text: 'Hi' },
      { type: 'image', source: { type: 'url', value: 'https://x.example/a.png' } },
    ]
    await served.run({ ...says('', { runId: 'r' }), messages: [{ id: 'u', role: 'user', content }] })
    await served.run(says('More', { tools: [PICK] }))
    for (const accept of ['text/event-stream', PROTOBUF]) {
      const Agent = (version === '' ? OldHttpAgent : HttpAgent) as typeof HttpAgent
      const url = `${served.url}/threads/t1/connect${version && `?protocolVersion=${version}`}`
      const reader = new Agent({
        url,
        threadId: 't1',
        fetch: () => fetch(url, { headers: { ...ANN, accept } }),
      })
      await reader.runAgent()
      const texts = reader.messages.filter(({ role }) => role === 'assistant').map(({ content: text }) => text)
      expect([accept, texts.slice(0, 2)]).toEqual([accept, ['Wait.', 'Sunny.']])
    }
  })
})

describe('names that are taken', () => {
  it('a client that lists a tool of the server does not switch its time limit off', async () => {
    const slow = defineTool({
      name: 'slow',
      description: 'Never ends.',
      parameters: { type: 'object' },
      invoke: (__, ctx) =>
        new Promise<string>((resolve) => ctx.signal.addEventListener('abort', () => resolve('late'))),
    })
    const { agent } = scripted([{ toolCalls: [{ id: 'c', name: 'slow' }] }, 'Done.'], [slow])
    await using served = await serve(agent, { toolTimeoutMs: 100, executionTimeoutMs: 1_500 })
    const listed = { name: 'slow', description: 'Mine.', parameters: {} }
    expect((await served.run(says('Go', { tools: [listed] }))).end).toBe('TOOL_TIMEOUT')
  })

  it('a run cannot pass for a hold between runs', async () => {
    const { agent } = scripted([{ text: 'Half', hang: 'mid' }])
    await using served = await serve(agent)
    const refused = await served.run(says('Hi', { runId: 'session:mine' }))
    expect([refused.status, refused.end]).toEqual([400, 'VALIDATION_FAILED'])
  })

  it('a hold between runs does not pass for a run', async () => {
    const { agent } = scripted(['Hi.'])
    await using served = await serve(agent)
    await served.run(says('Hi'))
    const ref = { app: 'test', user: 'ann', threadId: 't1' }
    const { token } = await served.store.leases.acquire(ref, { runId: 'session:x', ttlMs: 30_000 })
    const pages = [
      await served.call('GET', '/threads/t1'),
      await served.call('GET', '/threads'),
      await served.call('GET', '/threads/t1/connect'),
    ]
    pages.push(await served.run(says('More')))
    expect(pages.map(({ status }) => status)).toEqual([200, 200, 200, 409])
    for (const { text } of pages) expect(text).not.toContain('session:')
    await served.store.leases.release(ref, token)
  })
})

describe('a listener to errors', () => {
  it('may throw, and requests are answered all the same', async () => {
    const { agent } = scripted(['Hi.'])
    await using served = await serve(agent, {
      report: () => {
        throw new Error('full disk')
      },
      authenticate: () => {
        throw new Error('SECRET')
      },
    })
    const log = vi.spyOn(console, 'error').mockReturnValue()
    const reply = await fetch(`${served.url}/threads`).then(replyOf)
    expect([reply.status, reply.end]).toEqual([500, 'AGENT_ERROR'])
    expect(log).toHaveBeenCalledExactlyOnceWith(expect.objectContaining({ message: 'SECRET' }))
    log.mockRestore()
  })
})
