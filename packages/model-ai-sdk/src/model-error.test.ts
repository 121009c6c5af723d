import { APICallError, LoadAPIKeyError, NoSuchModelError, UnsupportedFunctionalityError } from '@ai-sdk/provider'
import { KernelError } from '@troupe/kernel'
import { fakeClock } from '@troupe/testkit'
import { describe, expect, it } from 'vitest'
import { modelError } from './model-error.ts'

const clock = fakeClock()
const made = (error: unknown) => modelError('fake:fake-1', error, clock)

function apiError(
  statusCode: number | undefined,
  more: Partial<ConstructorParameters<typeof APICallError>[0]> = {},
): APICallError {
  return new APICallError({
    message: 'the vendor says no',
    url: 'https://api.test/v1?key=secret-key',
    requestBodyValues: { messages: ['secret words'] },
    ...(statusCode !== undefined && { statusCode }),
    ...more,
  })
}

describe('codes', () => {
  it.each([
    [400, 'MODEL_REQUEST_INVALID', false],
    [401, 'MODEL_AUTH_FAILED', false],
    [402, 'MODEL_AUTH_FAILED', false],
    [403, 'MODEL_AUTH_FAILED', false],
    [404, 'MODEL_REQUEST_INVALID', false],
    [408, 'MODEL_FAILED', true],
    [409, 'MODEL_FAILED', true],
    [413, 'MODEL_CONTEXT_EXCEEDED', false],
    [422, 'MODEL_REQUEST_INVALID', false],
    [429, 'MODEL_RATE_LIMITED', true],
    [500, 'MODEL_FAILED', true],
    [502, 'MODEL_FAILED', true],
    [503, 'MODEL_OVERLOADED', true],
    [529, 'MODEL_OVERLOADED', true],
  ])('status %i is %s', (status, code, retryable) => {
    expect(made(apiError(status))).toMatchObject({ code, retryable, details: { status } })
  })

  it.each([
    ["This model's maximum context length is 128000 tokens.", undefined],
    ['Your input exceeds the limit.', { error: { code: 'context_length_exceeded' } }],
    ['prompt is too long: 210000 tokens > 200000 maximum', undefined],
    ['input length and `max_tokens` exceed context limit: 199000 + 20000 > 200000', undefined],
    ['The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).', undefined],
  ])('a request that is too long is distinguished from one that is invalid: %s', (message, data) => {
    expect(made(apiError(400, { message, data }))).toMatchObject({ code: 'MODEL_CONTEXT_EXCEEDED', retryable: false })
  })

  it('a wrong Gemini key comes with status 400', () => {
    const message = 'API key not valid. Please pass a valid API key.'
    expect(made(apiError(400, { message })).code).toBe('MODEL_AUTH_FAILED')
  })

  it('a spent budget is a limit that waiting does not lift', () => {
    const error = apiError(429, {
      data: { error: { code: 'insufficient_quota' } },
      responseHeaders: { 'retry-after': '1' },
    })
    expect(made(error)).toMatchObject({ code: 'MODEL_RATE_LIMITED', retryable: false, details: { status: 429 } })
    expect(made(error).details).not.toHaveProperty('retryAfterMs')
  })

  it('what a provider refuses before it sends anything', () => {
    expect(made(new LoadAPIKeyError({ message: 'OpenAI API key is missing.' }))).toMatchObject({
      code: 'MODEL_AUTH_FAILED',
      message: 'fake:fake-1: OpenAI API key is missing.',
    })
    expect(made(new UnsupportedFunctionalityError({ functionality: 'video' })).code).toBe('MODEL_REQUEST_INVALID')
    expect(made(new NoSuchModelError({ modelId: 'x', modelType: 'languageModel' })).code).toBe('MODEL_REQUEST_INVALID')
  })

  it('the provider knows best whether it may be retried', () => {
    expect(made(apiError(500, { isRetryable: false })).retryable).toBe(false)
    expect(made(apiError(undefined, { isRetryable: true }))).toMatchObject({ code: 'MODEL_FAILED', retryable: true })
  })

  it('an error of a stream that is not an Error', () => {
    expect(made({ message: 'Overloaded', type: 'overloaded_error', statusCode: 529, isRetryable: true })).toMatchObject(
      {
        code: 'MODEL_OVERLOADED',
        retryable: true,
        message: 'fake:fake-1: the vendor is overloaded, got 529: Overloaded',
      },
    )
    expect(made({ type: 'error', error: { message: 'broken' } })).toMatchObject({
      code: 'MODEL_FAILED',
      retryable: false,
      message: 'fake:fake-1: the call failed, got object: broken',
    })
  })

  it('a broken connection may be retried, also where the provider does not say so', () => {
    const cause = Object.assign(new Error('other side closed'), { code: 'UND_ERR_SOCKET' })
    expect(made(new TypeError('terminated', { cause }))).toMatchObject({ code: 'MODEL_FAILED', retryable: true })
    expect(made(new DOMException('slow', 'TimeoutError'))).toMatchObject({ code: 'MODEL_FAILED', retryable: true })
  })

  it('a failure to read a good answer has no status', () => {
    expect(made(apiError(200, { isRetryable: true }))).toMatchObject({ code: 'MODEL_FAILED', retryable: true })
    expect(made(apiError(200)).details).toEqual({})
  })

  it.each([[undefined], [null], ['boom'], [42], [new Error('boom')], [Object.create(null)]])(
    'anything else: %s',
    (error) => {
      expect(made(error)).toMatchObject({ code: 'MODEL_FAILED', retryable: false, details: {} })
      expect(made(error).cause).toBe(error)
    },
  )

  it('a KernelError stays what it is', () => {
    const error = new KernelError('MODEL_FAILED', 'x')
    expect(made(error)).toBe(error)
  })
})

describe('waiting', () => {
  const wait = (responseHeaders: Record<string, string>, data?: unknown) =>
    made(apiError(429, { responseHeaders, data })).details.retryAfterMs
  const inTenSeconds = new Date(Math.ceil(clock.now() / 1000) * 1000 + 10_000)

  it.each([
    ['seconds', { 'retry-after': '7' }, 7000],
    ['parts of seconds', { 'retry-after': '0.5' }, 500],
    ['no time at all', { 'retry-after': '0' }, 0],
    ['milliseconds, which are more exact', { 'retry-after-ms': '1234.5', 'retry-after': '2' }, 1235],
    ['a date', { 'retry-after': inTenSeconds.toUTCString() }, inTenSeconds.getTime() - clock.now()],
    ['a date in the past', { 'retry-after': 'Thu, 01 Jan 1970 00:00:00 GMT' }, 0],
    ['any spelling of the name', { 'Retry-After': '3' }, 3000],
  ])('reads %s', (_, headers, ms) => {
    expect(wait(headers)).toBe(ms)
  })

  it.each([[''], ['soon'], ['-5'], ['NaN'], ['Infinity']])('ignores an invalid time: "%s"', (value) => {
    expect(wait({ 'retry-after': value, 'retry-after-ms': value })).toBeUndefined()
  })

  it("reads Google's RetryInfo", () => {
    const details = [null, 'x', { '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: '34.5s' }]
    expect(wait({}, { error: { details } })).toBe(34_500)
    expect(wait({}, { error: { details: [{ retryDelay: 'later' }] } })).toBeUndefined()
  })
})

describe('secrets', () => {
  it('neither request, headers nor link reach what is shown', () => {
    const shown = JSON.stringify(
      made(
        apiError(500, {
          responseHeaders: { 'set-cookie': 'secret-cookie' },
          responseBody: 'secret body',
          data: { a: 'secret data' },
        }),
      ),
    )
    expect(shown).not.toContain('secret')
    expect(JSON.parse(shown)).toEqual({
      code: 'MODEL_FAILED',
      message: 'fake:fake-1: the call failed, got 500: the vendor says no',
      retryable: true,
      details: { status: 500 },
    })
  })

  it('a refused key is not quoted', () => {
    expect(made(apiError(401, { message: 'Incorrect API key provided: sk-secret' })).message).toBe(
      'fake:fake-1: the vendor refuses the key or the account, got 401',
    )
  })

  it('a long message is cut', () => {
    expect(made(new Error('x'.repeat(10_000))).message.length).toBeLessThan(400)
  })
})
