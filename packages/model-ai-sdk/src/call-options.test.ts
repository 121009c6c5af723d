import type { LanguageModelV4CallOptions } from '@ai-sdk/provider'
import type { ModelOptions, ModelRequest } from '@troupe/kernel'
import { expect, it } from 'vitest'
import { request, WEATHER } from './ask.fixture.ts'
import { type CallDefaults, toCallOptions } from './call-options.ts'
import type { ResponseFormat } from './schema/response-format.ts'

const { signal } = new AbortController()

function options(
  asked: ModelOptions,
  more: Partial<ModelRequest> = {},
  defaults: CallDefaults = {},
  format?: ResponseFormat,
): Partial<LanguageModelV4CallOptions> {
  const { prompt: _, ...rest } = toCallOptions(
    request([], { options: asked, ...more }),
    defaults,
    'system',
    signal,
    format,
    ['openai', 'groq'],
  )
  return rest
}

it('sends nothing that was not asked for', () => {
  expect(options({})).toStrictEqual({ abortSignal: signal })
})

it('sends every setting', () => {
  const schema = { type: 'object', properties: { city: { type: 'string' } } }
  const asked = { temperature: 0, maxOutputTokens: 9, stopSequences: ['.'], provider: { openai: { store: false } } }
  const format = { schema, loose: undefined, wrapped: false, plan: undefined }
  expect(options(asked, {}, {}, format)).toStrictEqual({
    abortSignal: signal,
    temperature: 0,
    maxOutputTokens: 9,
    stopSequences: ['.'],
    responseFormat: { type: 'json', schema },
    providerOptions: { openai: { store: false } },
  })
})

it('sends what a schema needs of the provider, and the user has the last word', () => {
  const format = { schema: {}, loose: { strictJsonSchema: false, store: true }, wrapped: false, plan: undefined }
  expect(options({ provider: { openai: { store: false } } }, {}, {}, format).providerOptions).toEqual({
    openai: { strictJsonSchema: false, store: false },
    groq: { strictJsonSchema: false, store: true },
  })
})

it('sends tools with their schema', () => {
  const { name, description, parameters } = WEATHER
  expect(options({}, { tools: [WEATHER] }).tools).toEqual([
    { type: 'function', name, description, inputSchema: parameters },
  ])
})

it.each([
  ['auto' as const, { type: 'auto' }],
  ['none' as const, { type: 'none' }],
  ['required' as const, { type: 'required' }],
  [{ tool: 'get_weather' }, { type: 'tool', toolName: 'get_weather' }],
])('sends the tool choice %j', (toolChoice, sent) => {
  expect(options({ toolChoice }, { tools: [WEATHER] }).toolChoice).toEqual(sent)
})

it('sends no tool choice without tools, which vendors refuse', () => {
  expect(options({ toolChoice: 'required' })).toStrictEqual({ abortSignal: signal })
})

it('a request wins over the defaults, provider options key by key', () => {
  const defaults: CallDefaults = {
    temperature: 1,
    topP: 0.5,
    reasoning: 'low',
    providerOptions: { openai: { store: false, user: 'a' }, google: { a: 1 } },
  }
  expect(
    options({ temperature: 0, provider: { openai: { user: 'b' }, anthropic: { c: 1 } } }, {}, defaults),
  ).toStrictEqual({
    abortSignal: signal,
    temperature: 0,
    topP: 0.5,
    reasoning: 'low',
    providerOptions: { openai: { store: false, user: 'b' }, google: { a: 1 }, anthropic: { c: 1 } },
  })
  expect(options({}, {}, defaults)).toStrictEqual({ abortSignal: signal, ...defaults })
})
