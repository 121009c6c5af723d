import { defineTool, KernelError } from '@troupe/kernel'
import { describe, expect, it } from 'vitest'
import { scripted } from '../in-process-client.fixture.ts'
import { says, serve } from './http-server.fixture.ts'

describe('errors outward', () => {
  it('carry no stack, path or text of what broke', async () => {
    const secret = 'SECRET at /srv/app/keys.ts:12 password=hunter2'
    const broken = defineTool({
      name: 'broken',
      description: 'Breaks.',
      parameters: { type: 'object' },
      invoke: () => {
        throw new Error(secret)
      },
    })
    const turns = [
      { toolCalls: [{ id: 'c1', name: 'broken' }] },
      'Sorry.',
      { error: { at: 'mid', error: new Error(secret) }, text: 'half' },
    ] as const
    const { agent } = scripted(turns, [broken])
    await using served = await serve(agent)
    const first = await served.run(says('Hi', { runId: 'a' }))
    const second = await served.run(says('Hi again', { runId: 'b' }))
    expect(first.end).toBe('success')
    expect(second.end).toMatch(/^[A-Z_]+$/)
    const pages = [first, second]
    for (const path of [
      '/threads/t1',
      '/threads/t1/messages',
      '/threads/t1/connect',
      '/threads/t1/runs/a',
      '/threads/t1/runs/b',
    ]) {
      pages.push(await served.call('GET', path))
    }
    for (const { text } of pages) expect(text).not.toMatch(/SECRET|hunter2|keys\.ts/)
  })

  it('a store that breaks is a 500 with a request id, and is reported', async () => {
    const { agent } = scripted(['Hi.'])
    await using served = await serve(agent)
    const threads = served.store.threads as { get: unknown; list: unknown }
    threads.list = () => Promise.reject(new Error('SECRET table threads'))
    threads.get = () => Promise.reject(new Error('SECRET table threads'))
    for (const path of ['/threads', '/threads/t1', '/threads/t1/messages', '/threads/t1/connect']) {
      const reply = await served.call('GET', path)
      expect([path, reply.status]).toEqual([path, 500])
      expect(JSON.parse(reply.text)).toMatchObject({ code: expect.any(String), requestId: expect.any(String) })
      expect(reply.text).not.toContain('SECRET')
    }
    expect(served.reports.length).toBeGreaterThanOrEqual(4)
  })
})

describe('what a tool throws', () => {
  it('stays inside, whatever the error calls itself', async () => {
    const codes = ['STORE_FAILED', 'MY_OWN', 'TIMEOUT', 'VALIDATION_FAILED', 'NOT_FOUND']
    const tools = codes.map((code) =>
      defineTool({
        name: code.toLowerCase(),
        description: 'Breaks.',
        parameters: { type: 'object' },
        invoke: () => {
          throw new KernelError(code, `SECRET of ${code}`)
        },
      }),
    )
    const calls = codes.map((code) => ({ id: code, name: code.toLowerCase() }))
    const { agent } = scripted([{ toolCalls: calls }, 'Sorry.'], tools)
    await using served = await serve(agent)
    const pages = [await served.run(says('Hi', { runId: 'a' }))]
    for (const path of ['/threads/t1/messages', '/threads/t1/connect', '/threads/t1/runs/a']) {
      pages.push(await served.call('GET', path))
    }
    expect(pages.map(({ text }) => text.match(/SECRET of \w+/g))).toEqual([null, null, null, null])
  })
})
