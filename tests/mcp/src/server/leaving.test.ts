import { getEventListeners } from 'node:events'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Client } from '@modelcontextprotocol/client'
import { defineTool, type Tool } from '@troupe/kernel'
import { memoryStore } from '@troupe/kernel/memory-store'
import { fakeClock } from '@troupe/testkit'
import { describe, expect, it } from 'vitest'
import { calling, echo, GENERATIONS, served } from './served.fixture.ts'

/** A tool that runs until it is stopped. */
function waiting(): { readonly tool: Tool; readonly started: Promise<void>; readonly stopped: Promise<unknown> } {
  const started = Promise.withResolvers<void>()
  const stopped = Promise.withResolvers<unknown>()
  const tool = defineTool({
    name: 'wait',
    description: 'Waits.',
    parameters: { type: 'object' },
    invoke: (_, { signal }) =>
      new Promise<string>((_resolve, reject) => {
        signal.addEventListener('abort', () => {
          stopped.resolve(signal.reason)
          reject(signal.reason)
        })
        started.resolve()
      }),
  })
  return { tool, started: started.promise, stopped: stopped.promise }
}

const call = (client: Client, name: string, signal?: AbortSignal) =>
  client.callTool({ name, arguments: name === 'host' ? { message: 'Wait' } : {} }, { ...(signal && { signal }) })

describe.each(GENERATIONS)('leaving, %s', (generation) => {
  it.each(['wait', 'host'])('a call of %s that is cancelled stops in its tool', async (name) => {
    const { tool, started, stopped } = waiting()
    const store = memoryStore()
    await using app = await served({ agents: [calling(tool, {})], tools: [tool], store })
    const client = await app.connect(generation)
    const leave = new AbortController()
    const gone = expect(call(client, name, leave.signal)).rejects.toThrow()
    await started
    leave.abort()
    await gone
    expect(await stopped).toMatchObject({ code: 'ABORTED' })
    await app.handler.stop()
    const [thread] = await store.threads.list({ app: name, user: 'ann' })
    expect(thread?.runId).toBeUndefined()
  })

  it('a conversation goes on after a cancelled call', async () => {
    const { tool, started, stopped } = waiting()
    await using app = await served({ agents: [calling(tool, {}), echo()] })
    const client = await app.connect(generation)
    const leave = new AbortController()
    const meta = { _meta: { 'troupe/thread': 'mine' } }
    const request = { name: 'host', arguments: { message: 'Wait' }, ...meta }
    const gone = expect(client.callTool(request, { signal: leave.signal })).rejects.toThrow()
    await started
    leave.abort()
    await gone
    await stopped
    const result = await client.callTool({ name: 'echo', arguments: { message: 'Hi' } })
    expect(result.isError).toBeUndefined()
  })

  it('a client that closes its connection stops its calls', async () => {
    const { tool, started, stopped } = waiting()
    await using app = await served({ tools: [tool] })
    const client = await app.connect(generation)
    const gone = expect(call(client, 'wait')).rejects.toThrow()
    await started
    // A lost connection does not cancel in the stateful protocol, but the end of a session does.
    const { transport } = client as unknown as { readonly transport: { terminateSession?(): Promise<void> } }
    if (generation === 'stateful') await transport.terminateSession?.()
    await client.close()
    await gone
    expect(await stopped).toMatchObject({ code: 'ABORTED' })
  })

  it('of two clients at once on a thread one is told that it is busy', async () => {
    const { tool, started, stopped } = waiting()
    await using app = await served({ agents: [calling(tool, {})] })
    const [one, two] = [await app.connect(generation), await app.connect(generation)]
    const request = { name: 'host', arguments: { message: 'Hi' }, _meta: { 'troupe/thread': 'shared' } }
    const leave = new AbortController()
    const gone = expect(one.callTool(request, { signal: leave.signal })).rejects.toThrow()
    await started
    const busy = await two.callTool(request)
    expect(busy).toMatchObject({ isError: true, content: [{ text: expect.stringContaining('THREAD_BUSY') }] })
    leave.abort()
    await gone
    await stopped
  })

  it('a server that stops ends its calls with an error', async () => {
    const { tool, started } = waiting()
    await using app = await served({ tools: [tool] })
    const client = await app.connect(generation)
    const ended = call(client, 'wait').catch((error: unknown) => error)
    await started
    await app.server.stop(0)
    expect(await ended).toMatchObject({ isError: true, content: [{ text: 'ABORTED: The run was cancelled.' }] })
  })

  it('100 clients that come and go leave nothing', async () => {
    await using app = await served({ agents: [echo()] })
    const before = process.getActiveResourcesInfo().filter((kind) => kind === 'Timeout').length
    const listeners = () => getEventListeners(process as never, 'exit').length
    const had = listeners()
    for (let i = 0; i < 100; i++) {
      const client = await app.connect(generation)
      await client.callTool({ name: 'echo', arguments: { message: 'Hi' } })
      const { transport } = client as unknown as { readonly transport: { terminateSession?(): Promise<void> } }
      if (generation === 'stateful') await transport.terminateSession?.()
      await client.close()
    }
    expect(app.handler.open()).toEqual({ calls: 0, sessions: 0, streams: 0 })
    expect(process.getActiveResourcesInfo().filter((kind) => kind === 'Timeout').length).toBeLessThanOrEqual(before + 2)
    expect(listeners()).toBe(had)
  })
})

describe('sessions', () => {
  it('one with an open stream stays, one that nobody uses ends', async () => {
    const clock = fakeClock()
    await using app = await served({ agents: [echo()], clock, limits: { sessionMs: 1_000 } })
    const headers = { 'x-user': 'ann', accept: 'application/json, text/event-stream' }
    const clientInfo = { name: 'raw', version: '1' }
    const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo }
    const begun = await fetch(app.url, {
      method: 'POST',
      headers: { ...headers, 'content-type': 'application/json' },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params }),
    })
    await begun.text()
    const own = { ...headers, 'mcp-session-id': begun.headers.get('mcp-session-id') ?? '' }
    const stream = await fetch(app.url, { headers: own })
    clock.advance(10_000)
    expect(app.handler.open().sessions).toBe(1)
    await stream.body?.cancel()
    while (app.handler.open().streams > 0) await nextTurn()
    clock.advance(2_000)
    expect(app.handler.open().sessions).toBe(0)
    expect((await fetch(app.url, { headers: own })).status).toBe(404)
    expect(clock.pending).toBe(0)
  })
})
