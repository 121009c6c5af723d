import { type AgentSubscriber, HttpAgent } from '@ag-ui/client'
import { HttpAgent as OldHttpAgent } from '@ag-ui/client-0'
import { EventType } from '@ag-ui/core'
import { describe, expect, it } from 'vitest'
import { agUiServer } from '../http/ag-ui-server.ts'
import { ANN, aborted, type Script, served, words } from '../http/http.fixture.ts'
import type { AgUiEvent } from '../protocol.ts'
import { cuttingFetch } from './cutting-fetch.fixture.ts'
import { resumableFetch } from './resumable-fetch.ts'
import { ResumableHttpAgent } from './resumable-http-agent.ts'

const headers = { authorization: 'ann' }
const user = (id: string) => ({ id, role: 'user' as const, content: 'Hi' })
const reconnect = { pauseMs: (attempt: number) => (attempt === 0 ? 0 : 5) }

/** Numbers as a streamed text, now and then with a pause, so that a cut falls anywhere. */
const counting: Script = async function* () {
  yield { type: EventType.TEXT_MESSAGE_START, messageId: 'm1', role: 'assistant' }
  for (let i = 0; i < 200; i++) {
    if (i % 20 === 0) await new Promise((resolve) => setImmediate(resolve))
    yield { type: EventType.TEXT_MESSAGE_CONTENT, messageId: 'm1', delta: `${i} ` }
  }
  yield { type: EventType.TEXT_MESSAGE_END, messageId: 'm1' }
}
const COUNTED = Array.from({ length: 200 }, (_, i) => `${i} `).join('')

const waiting: Script = async function* (_, { signal }) {
  yield* words(1)
  await aborted(signal)
}

function subscriber(): AgentSubscriber & { readonly types: string[]; readonly events: AgUiEvent[] } {
  const types: string[] = []
  const events: AgUiEvent[] = []
  return {
    types,
    events,
    onEvent: ({ event }) => {
      types.push(event.type)
      events.push(event as AgUiEvent)
    },
  }
}

describe('ResumableHttpAgent', () => {
  it('sees every word and every other event once, however often the connection is cut, also if the log is compacted meanwhile', async () => {
    const { handler, agent: scriptedAgent } = served(counting)
    await using server = await agUiServer(handler)
    let seed = 7
    const random = (most: number) => {
      seed = (seed * 1103515245 + 12345) % 2 ** 31
      return seed % most
    }
    let words = 0
    let cutsLeft = 0
    const cutting = cuttingFetch(() => (cutsLeft-- > 0 ? 1 + random(12_000) : undefined))
    for (let run = 0; run < 25; run++) {
      cutsLeft = 1 + random(5)
      const agent = new ResumableHttpAgent({
        url: server.url,
        headers,
        threadId: `t${run}`,
        reconnect,
        fetch: cutting.fetch,
      })
      agent.messages = [user('u1')]
      const seen = subscriber()
      await agent.runAgent({ runId: `r${run}` }, seen)
      expect(agent.messages.at(-1)).toMatchObject({ role: 'assistant', content: COUNTED })
      const others = seen.types.filter((type) => type !== 'TEXT_MESSAGE_CONTENT')
      expect(others).toEqual(['RUN_STARTED', 'TEXT_MESSAGE_START', 'TEXT_MESSAGE_END', 'RUN_FINISHED'])
      words += seen.types.length - others.length
    }
    // Some of them have read a part of their run from the compacted log, in fewer events.
    expect(words).toBeLessThan(25 * 200)
    expect(cutting.cuts).toBeGreaterThan(20)
    expect(scriptedAgent.started).toHaveLength(25)
  })

  it('gives up when the server stays unreachable', async () => {
    const { handler } = served(waiting)
    const server = await agUiServer(handler)
    const agent = new ResumableHttpAgent({
      url: server.url,
      headers,
      threadId: 't1',
      reconnect: { ...reconnect, attempts: 3 },
    })
    agent.messages = [user('u1')]
    const seen = subscriber()
    const text = Promise.withResolvers<void>()
    const run = agent.runAgent({ runId: 'r1' }, { ...seen, onTextMessageContentEvent: () => text.resolve() })
    await text.promise
    server.server.close()
    server.server.closeAllConnections()
    await run
    expect(seen.events.at(-1)).toMatchObject({ type: 'RUN_ERROR', code: 'CONNECTION_LOST' })
    await handler.stop(0)
  })

  it('stops the run on the server and can send a message at once', async () => {
    const { handler, store } = served(waiting)
    await using server = await agUiServer(handler)
    const agent = new ResumableHttpAgent({ url: server.url, headers, threadId: 't1', reconnect })
    for (let i = 0; i < 20; i++) {
      agent.messages.push(user(`u${i}`))
      const seen = subscriber()
      const text = Promise.withResolvers<void>()
      const run = agent.runAgent({ runId: `r${i}` }, { ...seen, onTextMessageContentEvent: () => text.resolve() })
      await text.promise
      agent.abortRun()
      await run
      expect(seen.types[0]).toBe('RUN_STARTED')
    }
    await expect.poll(async () => (await store.threads.get({ ...ANN, threadId: 't1' }))?.runId).toBeUndefined()
  })

  it('joins the active run after a reload, with the messages before it', async () => {
    const barrier = Promise.withResolvers<void>()
    const { handler } = served(async function* () {
      yield { type: EventType.TEXT_MESSAGE_START, messageId: 'm1', role: 'assistant' }
      yield { type: EventType.TEXT_MESSAGE_CONTENT, messageId: 'm1', delta: 'half ' }
      await barrier.promise
      yield { type: EventType.TEXT_MESSAGE_CONTENT, messageId: 'm1', delta: 'and half' }
      yield { type: EventType.TEXT_MESSAGE_END, messageId: 'm1' }
    })
    await using server = await agUiServer(handler)
    const first = new ResumableHttpAgent({ url: server.url, headers, threadId: 't1' })
    first.messages = [user('u1')]
    const half = Promise.withResolvers<void>()
    const run = first.runAgent({ runId: 'r1' }, { onTextMessageContentEvent: () => half.resolve() })
    await half.promise
    await first.detachActiveRun()
    await run
    const second = new ResumableHttpAgent({ url: server.url, headers, threadId: 't1' })
    const joined = second.connectAgent({}, { onTextMessageContentEvent: () => barrier.resolve() })
    await joined
    expect(second.messages).toMatchObject([
      { id: 'u1', role: 'user', content: 'Hi' },
      { id: 'm1', role: 'assistant', content: 'half and half' },
    ])
    const third = new ResumableHttpAgent({ url: server.url, headers, threadId: 'unknown' })
    await third.connectAgent()
    expect(third.messages).toEqual([])
  })

  it('can be cloned, as runtimes do', async () => {
    const { handler } = served(counting)
    await using server = await agUiServer(handler)
    const agent = new ResumableHttpAgent({ url: server.url, headers, threadId: 't1' }).clone()
    agent.messages = [user('u1')]
    await agent.runAgent({ runId: 'r1' })
    expect(agent.messages.at(-1)).toMatchObject({ content: COUNTED })
    agent.abortRun()
  })
})

describe.each([
  ['1.0.0', HttpAgent],
  ['0.0.59', OldHttpAgent as unknown as typeof HttpAgent],
])('HttpAgent %s', (_, Agent) => {
  it.each(['text/event-stream', 'application/vnd.ag-ui.event+proto'])('reads %s', async (accept) => {
    class Asking extends Agent {
      protected override requestInit(input: Parameters<HttpAgent['run']>[0]): RequestInit {
        const init = super.requestInit(input)
        return { ...init, headers: { ...(init.headers as Record<string, string>), Accept: accept } }
      }
    }
    const { handler } = served(counting)
    await using server = await agUiServer(handler)
    const agent = new Asking({ url: server.url, headers, threadId: 't1' })
    agent.messages = [user('u1')]
    const seen = subscriber()
    await agent.runAgent({ runId: 'r1' }, seen)
    expect(agent.messages).toMatchObject([{ id: 'u1' }, { role: 'assistant', content: COUNTED }])
    expect(seen.types.at(-1)).toBe('RUN_FINISHED')
  })

  it('survives lost connections with a resumable fetch', async () => {
    const { handler } = served(counting)
    await using server = await agUiServer(handler)
    let cutsLeft = 3
    const cutting = cuttingFetch(() => (cutsLeft-- > 0 ? 3_000 : undefined))
    const fetch = resumableFetch({ ...reconnect, fetch: cutting.fetch })
    const agent = new Agent({ url: server.url, headers, threadId: 't1', fetch })
    agent.messages = [user('u1')]
    await agent.runAgent({ runId: 'r1' })
    expect(agent.messages.at(-1)).toMatchObject({ content: COUNTED })
    expect(cutting.cuts).toBe(3)
  })
})
