import { getEventListeners } from 'node:events'
import { KernelError, type Message } from '@troupe/kernel'
import { describe, expect, it } from 'vitest'
import { ask, messageOf, request, user, WEATHER } from './ask.fixture.ts'
import { aiSdkModel } from './index.ts'
import { anthropic, events, google, openaiChat, openaiResponses, refuse, serve } from './vendors.fixture.ts'

const QUESTION = user('How is the weather in Beijing?')
const stop = new KernelError('ABORTED', 'test: stop')

/** The first words of an answer, as each vendor sends them. */
const chatChunk = { id: 'c1', object: 'chat.completion.chunk', created: 1, model: 'gpt-4o' }
const beginnings = {
  'OpenAI Chat': {
    make: openaiChat,
    words: [{ ...chatChunk, choices: [{ index: 0, delta: { role: 'assistant', content: 'Hel' } }] }],
  },
  'OpenAI Responses': {
    make: openaiResponses,
    words: [
      { type: 'response.created', response: { id: 'resp_1', created_at: 1, model: 'gpt-5', output: [] } },
      {
        type: 'response.output_item.added',
        output_index: 0,
        item: { type: 'message', id: 'msg_1', role: 'assistant', content: [] },
      },
      { type: 'response.output_text.delta', item_id: 'msg_1', output_index: 0, content_index: 0, delta: 'Hel' },
    ],
  },
  Anthropic: {
    make: anthropic,
    words: [
      {
        type: 'message_start',
        message: {
          id: 'm1',
          type: 'message',
          role: 'assistant',
          model: 'claude-sonnet-4-5',
          content: [],
          usage: { input_tokens: 4, output_tokens: 1 },
        },
      },
      { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
      { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Hel' } },
    ],
  },
  Gemini: { make: google, words: [{ candidates: [{ content: { role: 'model', parts: [{ text: 'Hel' }] } }] }] },
}

describe.each(Object.entries(beginnings))('%s on a bad line', (_, { make, words }) => {
  it('an abort before any answer hangs up', async () => {
    await using server = await serve(() => {})
    const controller = new AbortController()
    const work = ask(aiSdkModel(make(server.url)), request(), controller.signal)
    await expect.poll(() => server.bodies.length).toBe(1)
    controller.abort(stop)
    await expect(work).rejects.toBe(stop)
    await server.hungUp
    expect(getEventListeners(controller.signal, 'abort')).toEqual([])
  })

  it('an abort in the middle of an answer hangs up', async () => {
    await using server = await serve((response) => events(response, ...words))
    const controller = new AbortController()
    const shown: string[] = []
    const work = (async () => {
      for await (const part of aiSdkModel(make(server.url)).stream(request(), controller)) {
        if (part.type === 'text-delta') shown.push(part.delta)
        controller.abort(stop)
      }
    })()
    await expect(work).rejects.toBe(stop)
    expect(shown).toEqual(['Hel'])
    await server.hungUp
    expect(getEventListeners(controller.signal, 'abort')).toEqual([])
  })

  it('a reader that leaves hangs up', async () => {
    await using server = await serve((response) => events(response, ...words))
    const { signal } = new AbortController()
    for await (const _part of aiSdkModel(make(server.url)).stream(request(), { signal })) break
    await server.hungUp
    expect(getEventListeners(signal, 'abort')).toEqual([])
  })

  it('a connection that breaks in the middle may be retried', async () => {
    await using server = await serve((response) => {
      events(response, ...words)
      setImmediate(() => response.destroy())
    })
    await expect(ask(aiSdkModel(make(server.url)))).rejects.toMatchObject({
      code: 'MODEL_FAILED',
      retryable: true,
      details: {},
    })
  })

  it('an answer that just ends may be retried', async () => {
    await using server = await serve((response) => void events(response, ...words).end())
    await expect(ask(aiSdkModel(make(server.url)))).rejects.toMatchObject({ code: 'MODEL_FAILED', retryable: true })
  })

  it('a server that is not there may be retried', async () => {
    const server = await serve(() => {})
    await server[Symbol.asyncDispose]()
    await expect(ask(aiSdkModel(make(server.url)))).rejects.toMatchObject({
      code: 'MODEL_FAILED',
      retryable: true,
      details: {},
    })
  })

  it('an answer that is not an event stream is a failure', async () => {
    await using server = await serve(
      (response) => void response.writeHead(200, { 'content-type': 'text/html' }).end('<h1>Hi</h1>'),
    )
    await expect(ask(aiSdkModel(make(server.url)))).rejects.toMatchObject({ code: 'MODEL_FAILED' })
  })

  it('an error page of something in between is a failure', async () => {
    await using server = await serve(
      (response) => void response.writeHead(502, { 'retry-after': '2' }).end('<h1>Bad gateway</h1>'),
    )
    await expect(ask(aiSdkModel(make(server.url)))).rejects.toMatchObject({
      code: 'MODEL_FAILED',
      retryable: true,
      details: { status: 502, retryAfterMs: 2000 },
    })
  })
})

describe('errors in the middle of an answer', () => {
  it.each([
    [
      'OpenAI Chat' as const,
      { error: { message: 'Rate limit reached', type: 'tokens', code: 'rate_limit_exceeded' } },
      { code: 'MODEL_RATE_LIMITED', retryable: true, details: { status: 429 } },
    ],
    [
      'OpenAI Responses' as const,
      {
        type: 'error',
        sequence_number: 3,
        error: { type: 'server_error', code: 'server_error', message: 'Oh no', param: null },
      },
      { code: 'MODEL_FAILED', retryable: true, details: { status: 500 } },
    ],
    [
      'Anthropic' as const,
      { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } },
      { code: 'MODEL_OVERLOADED', retryable: true, details: { status: 529 } },
    ],
    [
      'Gemini' as const,
      { error: { code: 503, message: 'The model is overloaded.', status: 'UNAVAILABLE' } },
      { code: 'MODEL_OVERLOADED', retryable: true, details: { status: 503 } },
    ],
  ])('%s', async (vendor, frame, expected) => {
    const { make, words } = beginnings[vendor]
    await using server = await serve((response) => void events(response, ...words, frame).end())
    await expect(ask(aiSdkModel(make(server.url)))).rejects.toMatchObject(expected)
  })
})

describe('requests that are too long', () => {
  it.each([
    [
      'OpenAI Chat' as const,
      {
        error: {
          message: "This model's maximum context length is 128000 tokens.",
          type: 'invalid_request_error',
          param: 'messages',
          code: 'context_length_exceeded',
        },
      },
    ],
    [
      'OpenAI Responses' as const,
      {
        error: {
          message: 'Your input exceeds the context window of this model.',
          type: 'invalid_request_error',
          param: 'input',
          code: 'context_length_exceeded',
        },
      },
    ],
    [
      'Anthropic' as const,
      {
        type: 'error',
        error: { type: 'invalid_request_error', message: 'prompt is too long: 210000 tokens > 200000 maximum' },
      },
    ],
    [
      'Gemini' as const,
      {
        error: {
          code: 400,
          message: 'The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).',
          status: 'INVALID_ARGUMENT',
        },
      },
    ],
  ])('%s', async (vendor, body) => {
    await using server = await serve((response) => refuse(response, 400, body))
    await expect(ask(aiSdkModel(beginnings[vendor].make(server.url)))).rejects.toMatchObject({
      code: 'MODEL_CONTEXT_EXCEEDED',
      retryable: false,
      details: { status: 400 },
    })
  })
})

describe('what only one vendor does', () => {
  it('Gemini says in the body how long to wait', async () => {
    const details = [{ '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: '34s' }]
    const body = { error: { code: 429, message: 'Quota exceeded.', status: 'RESOURCE_EXHAUSTED', details } }
    await using server = await serve((response) => refuse(response, 429, body))
    await expect(ask(aiSdkModel(google(server.url)))).rejects.toMatchObject({
      code: 'MODEL_RATE_LIMITED',
      details: { status: 429, retryAfterMs: 34_000 },
    })
  })

  it('Gemini refuses a wrong key with status 400', async () => {
    const body = {
      error: { code: 400, message: 'API key not valid. Please pass a valid API key.', status: 'INVALID_ARGUMENT' },
    }
    await using server = await serve((response) => refuse(response, 400, body))
    await expect(ask(aiSdkModel(google(server.url)))).rejects.toMatchObject({ code: 'MODEL_AUTH_FAILED' })
  })

  it('OpenAI calls a spent budget a rate limit, which waiting does not lift', async () => {
    const body = {
      error: { message: 'You exceeded your current quota.', type: 'insufficient_quota', code: 'insufficient_quota' },
    }
    await using server = await serve((response) => refuse(response, 429, body))
    await expect(ask(aiSdkModel(openaiChat(server.url)))).rejects.toMatchObject({
      code: 'MODEL_RATE_LIMITED',
      retryable: false,
    })
  })

  it('a missing key is named before anything is sent', async () => {
    await using server = await serve(() => {})
    const key = process.env.OPENAI_API_KEY
    delete process.env.OPENAI_API_KEY
    try {
      await expect(ask(aiSdkModel(openaiChat(server.url, null as never)))).rejects.toMatchObject({
        code: 'MODEL_AUTH_FAILED',
        message: expect.stringContaining('OPENAI_API_KEY'),
      })
    } finally {
      if (key !== undefined) process.env.OPENAI_API_KEY = key
    }
    expect(server.bodies).toEqual([])
  })

  it('Gemini gets a late system message as marked words of the user, which its provider would refuse otherwise', async () => {
    await using server = await serve((response) => refuse(response, 500, {}))
    const note: Message = { id: 's', role: 'system', content: 'Now in French.' }
    await expect(ask(aiSdkModel(google(server.url)), request([QUESTION, note]))).rejects.toMatchObject({
      code: 'MODEL_FAILED',
    })
    expect(server.bodies).toMatchObject([
      { contents: [{}, { role: 'user', parts: [{ text: '<system>\nNow in French.\n</system>' }] }] },
    ])
    await expect(
      ask(aiSdkModel(google(server.url), { lateSystemRole: 'system' }), request([QUESTION, note])),
    ).rejects.toMatchObject({
      code: 'MODEL_REQUEST_INVALID',
    })
  })

  it('Gemini gets the signature of a call back with the call', async () => {
    const parts = [{ functionCall: { name: 'get_weather', args: { city: 'Beijing' } }, thoughtSignature: 'signed' }]
    const usageMetadata = {
      promptTokenCount: 10,
      cachedContentTokenCount: 4,
      candidatesTokenCount: 5,
      thoughtsTokenCount: 3,
      totalTokenCount: 18,
    }
    const answer = {
      candidates: [{ content: { role: 'model', parts }, finishReason: 'STOP' }],
      usageMetadata,
      modelVersion: 'gemini-3-pro',
    }
    await using server = await serve((response) => void events(response, answer).end())
    const model = aiSdkModel(google(server.url))
    const first = await ask(model, request([QUESTION], { tools: [WEATHER] }))
    expect(first.at(-1)).toMatchObject({
      reason: 'tool-calls',
      usage: { inputTokens: 10, outputTokens: 8, reasoningTokens: 3, cachedInputTokens: 4 },
    })
    await ask(model, request([QUESTION, ...answered(messageOf(first))], { tools: [WEATHER] }))
    expect(server.bodies[1]).toMatchObject({ contents: [{}, { parts }, { parts: [{ functionResponse: {} }] }] })
  })

  it('Anthropic gets redacted thinking back', async () => {
    const block = (index: number, content_block: object) => [
      { type: 'content_block_start', index, content_block },
      { type: 'content_block_stop', index },
    ]
    await using server = await serve(
      (response) =>
        void events(
          response,
          ...beginnings.Anthropic.words.slice(0, 1),
          ...block(0, { type: 'redacted_thinking', data: 'sealed' }),
          ...block(1, { type: 'tool_use', id: 'toolu_1', name: 'get_weather', input: { city: 'Beijing' } }),
          {
            type: 'message_delta',
            delta: { stop_reason: 'tool_use', stop_sequence: null },
            usage: { output_tokens: 9 },
          },
          { type: 'message_stop' },
        ).end(),
    )
    const model = aiSdkModel(anthropic(server.url))
    const first = messageOf(await ask(model, request([QUESTION], { tools: [WEATHER] })))
    expect(first.content).toEqual([
      { type: 'reasoning', text: '', metadata: { anthropic: { redactedData: 'sealed' } } },
    ])
    await ask(model, request([QUESTION, ...answered(first)], { tools: [WEATHER] }))
    expect(server.bodies[1]).toMatchObject({
      messages: [
        {},
        {
          content: [
            { type: 'redacted_thinking', data: 'sealed' },
            { type: 'tool_use', input: { city: 'Beijing' } },
          ],
        },
        {},
      ],
    })
  })

  it('OpenAI Responses gets sealed reasoning back, also where it keeps nothing itself', async () => {
    const reasoning = { type: 'reasoning', id: 'rs_1', encrypted_content: 'sealed', summary: [] }
    const call = {
      type: 'function_call',
      id: 'fc_1',
      call_id: 'call_1',
      name: 'get_weather',
      arguments: '{"city":"Beijing"}',
      status: 'completed',
    }
    await using server = await serve(
      (response) =>
        void events(
          response,
          ...beginnings['OpenAI Responses'].words.slice(0, 1),
          { type: 'response.output_item.added', output_index: 0, item: { ...reasoning, encrypted_content: 'opening' } },
          { type: 'response.output_item.done', output_index: 0, item: reasoning },
          {
            type: 'response.output_item.added',
            output_index: 1,
            item: { ...call, arguments: '', status: 'in_progress' },
          },
          { type: 'response.function_call_arguments.delta', item_id: 'fc_1', output_index: 1, delta: '{"city":' },
          { type: 'response.function_call_arguments.delta', item_id: 'fc_1', output_index: 1, delta: '"Beijing"}' },
          { type: 'response.output_item.done', output_index: 1, item: call },
          {
            type: 'response.completed',
            response: {
              id: 'resp_1',
              created_at: 1,
              model: 'gpt-5',
              output: [],
              usage: {
                input_tokens: 10,
                input_tokens_details: { cached_tokens: 4 },
                output_tokens: 8,
                output_tokens_details: { reasoning_tokens: 3 },
              },
            },
          },
        ).end(),
    )
    const model = aiSdkModel(openaiResponses(server.url), {
      defaults: { providerOptions: { openai: { store: false } } },
    })
    const first = await ask(model, request([QUESTION], { tools: [WEATHER] }))
    expect(first.filter(({ type }) => type === 'tool-call-delta')).toHaveLength(2)
    expect(first.at(-1)).toMatchObject({
      reason: 'tool-calls',
      usage: { inputTokens: 10, outputTokens: 8, reasoningTokens: 3, cachedInputTokens: 4 },
    })
    await ask(model, request([QUESTION, ...answered(messageOf(first))], { tools: [WEATHER] }))
    expect(server.bodies[1]).toMatchObject({
      store: false,
      input: [
        {},
        {},
        { type: 'reasoning', encrypted_content: 'sealed' },
        { type: 'function_call', call_id: 'call_1' },
        { output: 'Sunny.' },
      ],
    })
  })
})

/** A message and the results of its calls. */
function answered(message: ReturnType<typeof messageOf>): Message[] {
  const results = message.toolCalls.map(
    ({ id, name }): Message => ({ id: `r-${id}`, role: 'tool', callId: id, name, content: 'Sunny.' }),
  )
  return [message, ...results]
}
