import { createServer, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'
import type { ModelPart, ModelRequest } from '@troupe/kernel'
import { testModel } from '@troupe/testkit'
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { chatCompletions } from './index.ts'

let server: Server
let host: string
let asked: unknown
let answer: (response: ServerResponse) => void

/** Writes an answer as a server does, but cuts it at unusual points. */
const streaming =
  (...chunks: readonly object[]) =>
  (response: ServerResponse) => {
    response.setHeader('content-type', 'text/event-stream')
    for (const chunk of chunks) {
      const event = `data: ${JSON.stringify(chunk)}\r\n\r\n`
      response.write(event.slice(0, 9))
      response.write(event.slice(9))
    }
    response.end('data: [DONE]\n\n')
  }
const delta = (delta: object, finish_reason: string | null = null) => ({
  model: 'qwen3-0711',
  choices: [{ delta, finish_reason }],
})
const usage = { choices: [], usage: { prompt_tokens: 12, completion_tokens: 3 } }
const calls = (index: number, called: object, id?: string) => delta({ tool_calls: [{ index, id, function: called }] })
const HELLO = streaming(delta({ content: 'Hel' }), delta({ content: 'lo 👋' }), delta({}, 'stop'), usage)

beforeAll(async () => {
  server = createServer(async (request, response) => {
    asked = await json(request)
    answer(response)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  host = `127.0.0.1:${(server.address() as AddressInfo).port}`
})
beforeEach(() => {
  answer = HELLO
})
afterAll(() => {
  server.closeAllConnections()
  server.close()
})

const make = () => chatCompletions({ url: `http://${host}/v1/`, model: 'qwen3', apiKey: 'secret' })
const failing = () =>
  chatCompletions({ url: `http://${host}/v1`, model: 'qwen3', fetch: () => Promise.reject(new Error('gone')) })

// The conformance suite: what an agent expects of a model.
testModel('chatCompletions', make, { failing })

const request: ModelRequest = {
  instruction: 'Be brief.',
  messages: [
    { id: 'm1', role: 'user', content: 'The weather?' },
    { id: 'm2', role: 'assistant', content: '', toolCalls: [{ id: 'c1', name: 'look', arguments: '{"at":"sky"}' }] },
    { id: 'm3', role: 'tool', callId: 'c1', name: 'look', content: 'Blue.' },
  ],
  tools: [{ name: 'look', description: 'Looks.', parameters: { type: 'object' } }],
  options: { temperature: 0, maxOutputTokens: 9 },
  step: 'model:0',
  idempotencyKey: 'k',
}
const ask = async () => {
  const parts: ModelPart[] = []
  for await (const part of make().stream(request, { signal: new AbortController().signal })) parts.push(part)
  return parts
}

it('asks with instruction, history, tools and settings', async () => {
  await ask()
  expect(asked).toEqual({
    model: 'qwen3',
    messages: [
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: 'The weather?' },
      {
        role: 'assistant',
        content: '',
        tool_calls: [{ id: 'c1', type: 'function', function: { name: 'look', arguments: '{"at":"sky"}' } }],
      },
      { role: 'tool', tool_call_id: 'c1', content: 'Blue.' },
    ],
    stream: true,
    stream_options: { include_usage: true },
    temperature: 0,
    max_tokens: 9,
    tools: [{ type: 'function', function: request.tools[0] }],
  })
})

it('gives text, calls at once, usage and the name of the model', async () => {
  answer = streaming(
    calls(0, { name: 'look', arguments: '' }, 'a'),
    calls(1, { name: 'look', arguments: '{"at":' }, 'b'),
    calls(0, { arguments: '{}' }),
    calls(1, { arguments: '1}' }),
    delta({}, 'tool_calls'),
    usage,
  )
  expect(await ask()).toEqual([
    { type: 'tool-call-start', callId: 'a', name: 'look' },
    { type: 'tool-call-start', callId: 'b', name: 'look' },
    { type: 'tool-call-delta', callId: 'b', delta: '{"at":' },
    { type: 'tool-call-delta', callId: 'a', delta: '{}' },
    { type: 'tool-call-delta', callId: 'b', delta: '1}' },
    { type: 'tool-call-end', callId: 'a' },
    { type: 'tool-call-end', callId: 'b' },
    { type: 'finish', reason: 'tool-calls', usage: { inputTokens: 12, outputTokens: 3 }, model: 'qwen3-0711' },
  ])
})

it.each<[string, (response: ServerResponse) => void, boolean, RegExp]>([
  ['a wrong key', (response) => response.writeHead(401).end('who?'), false, /status 401, who\?/],
  ['a busy server', (response) => response.writeHead(429).end('later'), true, /status 429/],
  ['an answer that breaks off', streaming(delta({ content: 'Hel' })), true, /broke off/],
  ['an error in the answer', streaming({ error: { message: 'out of memory' } }), true, /out of memory/],
])('%s is MODEL_FAILED', async (_, answering, retryable, message) => {
  answer = answering
  await expect(ask()).rejects.toMatchObject({
    code: 'MODEL_FAILED',
    retryable,
    message: expect.stringMatching(message),
  })
})
