import { LLMock } from '@copilotkit/aimock'
import type { ChatModel, Message, ModelPart } from '@troupe/kernel'
import { testModel } from '@troupe/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ask, messageOf, request, user, WEATHER } from './ask.fixture.ts'
import { aiSdkModel } from './index.ts'
import { anthropic, google, type MakeProvider, openaiChat, openaiResponses } from './vendors.fixture.ts'

const QUESTION = user('How is the weather in Beijing?')
const ARGUMENTS = { city: 'Beijing', days: 3 }
const PICTURE = 'iVBORw0KGgo='

const mock = new LLMock({ port: 0, host: '127.0.0.1', chunkSize: 6, auth: { apiKeys: ['right-key'] } })
const usage = {
  prompt_tokens: 11,
  completion_tokens: 7,
  input_tokens: 11,
  output_tokens: 7,
  promptTokenCount: 11,
  candidatesTokenCount: 7,
}
const calls = {
  reasoning: 'I have to look.',
  reasoningSignature: 'signed',
  content: 'One moment.',
  toolCalls: [
    { id: 'call_1', name: 'get_weather', arguments: JSON.stringify(ARGUMENTS) },
    { id: 'call_2', name: 'get_time', arguments: '{}' },
  ],
  usage,
}
mock
  .on({ userMessage: 'weather', hasToolResult: true }, { content: 'Sunny, all three days.', usage })
  // Real Gemini stops with STOP; the mock would say FUNCTION_CALL, which is not a reason of Gemini's.
  .on({ userMessage: 'weather', model: /^gemini/ }, { ...calls, finishReason: 'stop' })
  .on({ userMessage: 'weather' }, calls)
  .on(
    { userMessage: 'too fast' },
    { error: { message: 'Slow down.', type: 'rate_limit_error' }, status: 429, retryAfter: 7 },
  )
  .on({ userMessage: 'crash' }, { error: { message: 'Oh no.', type: 'api_error' }, status: 500 })
  .on({ userMessage: 'Hello' }, { content: 'Hello, whoever you are.', reasoning: 'A greeting.', usage })
  .on({ userMessage: 'picture' }, { content: 'A tiny one.', usage })

beforeAll(async () => {
  await mock.start()
})
afterAll(() => mock.stop())

/** The requests that a vendor gets after the tools have run, and for a picture. */
interface Wire {
  readonly make: MakeProvider
  readonly reasons: boolean
  readonly streamsArguments: boolean
  readonly continued: object
  readonly picture: object
}

const result = { type: 'tool_result', tool_use_id: 'call_1', content: 'Sunny.' }
const failed = { type: 'tool_result', tool_use_id: 'call_2', content: 'No clock.', is_error: true }
const vendors: Record<string, Wire> = {
  'OpenAI Chat': {
    make: openaiChat,
    reasons: false,
    streamsArguments: true,
    continued: {
      messages: [
        { role: 'system', content: 'Be brief.' },
        { role: 'user' },
        {
          role: 'assistant',
          content: 'One moment.',
          tool_calls: [
            { id: 'call_1', function: { name: 'get_weather', arguments: JSON.stringify(ARGUMENTS) } },
            { id: 'call_2', function: { name: 'get_time', arguments: '{}' } },
          ],
        },
        { role: 'tool', tool_call_id: 'call_1', content: 'Sunny.' },
        { role: 'tool', tool_call_id: 'call_2', content: '{"error":"No clock."}' },
      ],
    },
    picture: {
      messages: [
        { role: 'system' },
        { content: [{ type: 'text' }, { type: 'image_url', image_url: { url: `data:image/png;base64,${PICTURE}` } }] },
      ],
    },
  },
  'OpenAI Responses': {
    make: openaiResponses,
    reasons: true,
    streamsArguments: true,
    continued: {
      input: [
        { content: 'Be brief.' },
        { role: 'user' },
        { type: 'item_reference', id: expect.stringMatching(/^rs/) },
        { type: 'item_reference', id: expect.stringMatching(/^msg/) },
        { type: 'function_call', call_id: 'call_1', name: 'get_weather', arguments: JSON.stringify(ARGUMENTS) },
        { type: 'function_call', call_id: 'call_2', name: 'get_time', arguments: '{}' },
        { type: 'function_call_output', call_id: 'call_1', output: 'Sunny.' },
        { type: 'function_call_output', call_id: 'call_2', output: '{"error":"No clock."}' },
      ],
    },
    picture: {
      input: [
        {},
        { content: [{ type: 'input_text' }, { type: 'input_image', image_url: `data:image/png;base64,${PICTURE}` }] },
      ],
    },
  },
  Anthropic: {
    make: anthropic,
    reasons: true,
    streamsArguments: true,
    continued: {
      system: [{ type: 'text', text: 'Be brief.' }],
      messages: [
        { role: 'user' },
        {
          role: 'assistant',
          content: [
            { type: 'thinking', thinking: 'I have to look.', signature: 'signed' },
            { type: 'text', text: 'One moment.' },
            { type: 'tool_use', id: 'call_1', name: 'get_weather', input: ARGUMENTS },
            { type: 'tool_use', id: 'call_2', name: 'get_time', input: {} },
          ],
        },
        { role: 'user', content: [result, failed] },
      ],
    },
    picture: {
      messages: [
        {
          content: [
            { type: 'text' },
            { type: 'image', source: { type: 'base64', media_type: 'image/png', data: PICTURE } },
          ],
        },
      ],
    },
  },
  Gemini: {
    make: google,
    reasons: true,
    // Gemini sends the arguments of a call in one piece.
    streamsArguments: false,
    continued: {
      systemInstruction: { parts: [{ text: 'Be brief.' }] },
      contents: [
        { role: 'user' },
        {
          role: 'model',
          parts: [
            { text: 'I have to look.', thought: true },
            { text: 'One moment.' },
            { functionCall: { name: 'get_weather', args: ARGUMENTS } },
            { functionCall: { name: 'get_time', args: {} } },
          ],
        },
        {
          role: 'user',
          parts: [
            { functionResponse: { name: 'get_weather', response: { content: 'Sunny.' } } },
            { functionResponse: { name: 'get_time', response: { error: 'No clock.' } } },
          ],
        },
      ],
    },
    picture: {
      contents: [{ parts: [{ text: expect.any(String) }, { inlineData: { mimeType: 'image/png', data: PICTURE } }] }],
    },
  },
}

for (const [name, { make, reasons, streamsArguments, continued, picture }] of Object.entries(vendors)) {
  testModel(`aiSdkModel on ${name} over HTTP`, () => aiSdkModel(make(mock.url)), {
    failing: () => aiSdkModel(make(mock.url, 'wrong-key')),
  })

  describe(`${name} over HTTP`, () => {
    /** A model, and what it has sent. */
    function watched(): { readonly model: ChatModel; readonly bodies: unknown[] } {
      const bodies: unknown[] = []
      const fetch: typeof globalThis.fetch = (input, init) => {
        bodies.push(JSON.parse(String(init?.body)))
        return globalThis.fetch(input, init)
      }
      return { model: aiSdkModel(make(mock.url, 'right-key', fetch)), bodies }
    }

    it('asks for tools with streamed arguments, takes their results and answers', async () => {
      const { model, bodies } = watched()
      const tools = [WEATHER, { ...WEATHER, name: 'get_time' }]
      const first = await ask(model, request([QUESTION], { tools }))
      const message = messageOf(first)
      expect(message.content).toMatchObject([
        ...(reasons ? [{ type: 'reasoning', text: 'I have to look.' }] : []),
        { type: 'text', text: 'One moment.' },
      ])
      expect(message.toolCalls.map((call) => [call.name, JSON.parse(call.arguments)])).toEqual([
        ['get_weather', ARGUMENTS],
        ['get_time', {}],
      ])
      const pieces = first.filter((part) => part.type === 'tool-call-delta' && part.callId === message.toolCalls[0]?.id)
      expect(pieces.length > 1).toBe(streamsArguments)
      expect(first.at(-1)).toMatchObject({ reason: 'tool-calls', usage: { inputTokens: 11, outputTokens: 7 } })

      const results = message.toolCalls.map(
        ({ id, name }, i): Message => ({
          id: `r${i}`,
          role: 'tool',
          callId: id,
          name,
          content: i === 0 ? 'Sunny.' : 'No clock.',
          ...(i > 0 && { error: { code: 'TOOL_FAILED', message: 'x' } }),
        }),
      )
      const second = await ask(model, request([QUESTION, message, ...results], { tools }))
      expect(messageOf(second).content).toMatchObject([{ type: 'text', text: 'Sunny, all three days.' }])
      expect(second.at(-1)).toMatchObject({ type: 'finish', reason: 'stop' } satisfies Partial<ModelPart>)
      expect(bodies[1]).toMatchObject(continued)
    })

    it('is shown a picture', async () => {
      const { model, bodies } = watched()
      const content = [
        { type: 'text' as const, text: 'What is in this picture?' },
        { type: 'file' as const, mediaType: 'image/png', data: PICTURE },
      ]
      expect(messageOf(await ask(model, request([user(content)]))).content).toMatchObject([{ text: 'A tiny one.' }])
      expect(bodies[0]).toMatchObject(picture)
    })

    it('is limited, and says how long to wait', async () => {
      await expect(ask(watched().model, request([user('too fast')]))).rejects.toMatchObject({
        code: 'MODEL_RATE_LIMITED',
        retryable: true,
        details: { status: 429, retryAfterMs: 7000 },
      })
    })

    it('crashes, and may be asked again', async () => {
      await expect(ask(watched().model, request([user('crash')]))).rejects.toMatchObject({
        code: 'MODEL_FAILED',
        retryable: true,
        details: { status: 500 },
        message: expect.stringContaining('Oh no.'),
      })
    })

    it('refuses a wrong key, which is not repeated', async () => {
      const error = await ask(aiSdkModel(make(mock.url, 'wrong-key'))).catch((thrown: unknown) => thrown)
      expect(error).toMatchObject({ code: 'MODEL_AUTH_FAILED', retryable: false, details: { status: 401 } })
      expect(JSON.stringify(error)).not.toContain('wrong-key')
    })
  })
}
