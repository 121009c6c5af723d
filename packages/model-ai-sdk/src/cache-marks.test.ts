import type { LanguageModelV4CallOptions } from '@ai-sdk/provider'
import type { Message, ModelOptions, ModelRequest } from '@troupe/kernel'
import { describe, expect, it } from 'vitest'
import { ask, request, user, WEATHER } from './ask.fixture.ts'
import { withCacheMarks } from './cache-marks.ts'
import { toCallOptions } from './call-options.ts'
import { aiSdkModel } from './index.ts'
import { anthropic, events, openaiChat, openaiResponses, serve } from './vendors.fixture.ts'

const { signal } = new AbortController()
const TALK: readonly Message[] = [
  user('One?', 'u1'),
  { id: 'a1', role: 'assistant', content: 'One.', toolCalls: [{ id: 'c1', name: 'get_weather', arguments: '{}' }] },
  { id: 'r1', role: 'tool', callId: 'c1', name: 'get_weather', content: 'Sunny.' },
]

const answer = [
  {
    type: 'message_start',
    message: {
      id: 'm1',
      type: 'message',
      role: 'assistant',
      model: 'claude-sonnet-4-5',
      content: [],
      usage: { input_tokens: 4, cache_read_input_tokens: 30, cache_creation_input_tokens: 20, output_tokens: 1 },
    },
  },
  { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
  { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Hi.' } },
  { type: 'content_block_stop', index: 0 },
  { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 2 } },
  { type: 'message_stop' },
]

/** What Anthropic gets for a request. */
async function sent(options: ModelOptions, more: Partial<ModelRequest> = {}) {
  await using server = await serve((response) => void events(response, ...answer).end())
  const parts = await ask(aiSdkModel(anthropic(server.url)), request(TALK, { options, ...more }))
  return { body: server.bodies[0] as Record<string, unknown>, finish: parts.at(-1) }
}

const MARK = { cache_control: { type: 'ephemeral' } }

describe('a request that asks for a cache', () => {
  it('has marks at the end of the instruction, of the prompt before and of its own for Anthropic', async () => {
    const { body, finish } = await sent({ cache: {} }, { tools: [WEATHER] })
    expect(body.system).toEqual([{ type: 'text', text: 'Be brief.', ...MARK }])
    expect(body.messages).toEqual([
      { role: 'user', content: [{ type: 'text', text: 'One?', ...MARK }] },
      {
        role: 'assistant',
        content: [
          { type: 'text', text: 'One.' },
          { type: 'tool_use', id: 'c1', name: 'get_weather', input: {} },
        ],
      },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'c1', content: 'Sunny.', ...MARK }] },
    ])
    expect(JSON.stringify(body.tools)).not.toContain('cache_control')
    expect(finish).toMatchObject({
      usage: { inputTokens: 54, cachedInputTokens: 30, cacheWriteTokens: 20, outputTokens: 2 },
    })
  })

  it('marks the tools if there is no instruction, for as long as it says', async () => {
    const { body } = await sent({ cache: { ttl: '1h' } }, { tools: [WEATHER], instruction: '' })
    expect(body.tools).toMatchObject([{ name: 'get_weather', cache_control: { type: 'ephemeral', ttl: '1h' } }])
  })

  it('leaves marks alone that the caller has set', async () => {
    const cacheControl = { type: 'ephemeral' }
    const { body } = await sent({ cache: {}, provider: { anthropic: { cacheControl } } })
    expect(body).toMatchObject({ cache_control: cacheControl, system: [{ type: 'text', text: 'Be brief.' }] })
    expect(JSON.stringify(body.messages)).not.toContain('cache_control')
  })

  it.each([openaiChat, openaiResponses])('has its key for OpenAI, unless the caller has set one', async (make) => {
    await using server = await serve((response) => void response.writeHead(400).end('{}'))
    for (const options of [
      { cache: { key: 't1' } },
      { cache: { key: 't1' }, provider: { openai: { promptCacheKey: 'mine' } } },
      { cache: {} },
    ]) {
      await expect(ask(aiSdkModel(make(server.url)), request(TALK, { options }))).rejects.toThrow()
    }
    expect(server.bodies.map((body) => (body as { prompt_cache_key?: string }).prompt_cache_key)).toEqual([
      't1',
      'mine',
      undefined,
    ])
  })

  it('has cache points for Bedrock, and nothing for vendors that need nothing', () => {
    const asked = toCallOptions(request(TALK), {}, 'system', signal)
    const { prompt } = withCacheMarks('amazon-bedrock', {}, asked)
    const point = { bedrock: { cachePoint: { type: 'default' } } }
    expect(prompt.map(({ providerOptions }) => providerOptions)).toEqual([point, point, undefined, point])
    for (const provider of ['google.generative-ai', 'groq.chat', 'openai.chat']) {
      expect(withCacheMarks(provider, {}, asked)).toBe(asked)
    }
    expect(withCacheMarks('anthropic.messages', undefined, asked)).toBe(asked)
  })

  it('without messages and tools has nothing to mark', () => {
    const nothing: LanguageModelV4CallOptions = { prompt: [] }
    expect(withCacheMarks('anthropic.messages', {}, nothing)).toEqual(nothing)
  })
})
