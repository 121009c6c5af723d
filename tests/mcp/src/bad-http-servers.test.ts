import { mcpTools } from '@troupe/mcp'
import { afterEach, describe, expect, it } from 'vitest'
import { runnerFor, SESSION } from './agent.fixture.ts'
import { HttpFixture, statefulDesk, statelessDesk } from './servers/desk-http.ts'

type Handle = (request: Request) => Promise<Response>

const EVENTS = { 'content-type': 'text/event-stream' }
const bytes = (text: string) => new TextEncoder().encode(text)

/** What a server with a fault sends instead of the stream with the result of a call. */
const FAULTS: Readonly<Record<string, () => Response>> = {
  'a stream that ends before its answer': () =>
    new Response(ReadableStream.from([bytes(': soon\n\n')]), { headers: EVENTS }),
  'a stream that breaks': () =>
    new Response(
      new ReadableStream({
        start: (controller) => controller.enqueue(bytes('data: {"jsonrpc":"2.0","id')),
        pull: (controller) => controller.error(new Error('gone')),
      }),
      { headers: EVENTS },
    ),
  'a message of 100 MB': () =>
    new Response(ReadableStream.from(Array.from({ length: 100 }, () => new Uint8Array(1_000_000).fill(120))), {
      headers: { 'content-type': 'application/json' },
    }),
  'half of the JSON': () => new Response('{"jsonrpc":"2.0",', { headers: { 'content-type': 'application/json' } }),
}

let http: HttpFixture | undefined
afterEach(() => http?.[Symbol.asyncDispose]())

const generations: readonly (readonly [string, () => Handle])[] = [
  ['stateful', () => statefulDesk().handle],
  ['2026-07-28', () => statelessDesk()],
]
describe.each(generations)('a server over HTTP, %s, answers a call with', (_generation, desk) => {
  it.each(Object.entries(FAULTS))('%s: the model is told at once that the outcome is unknown', async (_name, fault) => {
    const calls = { count: 0 }
    const handle = desk()
    http = await HttpFixture.start(async (request) => {
      const body = request.method === 'POST' ? await request.clone().text() : ''
      if (!body.includes('"tools/call"')) return handle(request)
      calls.count++
      return fault()
    })
    await using tools = mcpTools({ servers: { desk: { url: http.url, trusted: true } } })
    const { query } = runnerFor(tools, [[{ name: 'desk_note_once', arguments: { id: '1' } }]])
    const { outcome, messages } = await query('Go', { session: SESSION })
    expect(outcome).toBe('complete')
    expect(messages.find((message) => message.role === 'tool')).toMatchObject({ error: { code: 'OUTCOME_UNKNOWN' } })
    expect(calls.count).toBe(1)
  })
})
