import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { got, KernelError } from './kernel-error.ts'
import { checkOption } from './option.ts'

describe('KernelError', () => {
  it('is recognised across duplicate installs, by code too', async () => {
    const copy: typeof import('./kernel-error.ts') = await import(`./kernel-error.ts?${'copy'}`)
    const foreign = new copy.KernelError('NOT_FOUND', 'thread: unknown')
    expect(foreign).not.toBeInstanceOf(KernelError)
    expect(KernelError.is(foreign)).toBe(true)
    expect(KernelError.is(foreign, 'NOT_FOUND')).toBe(true)
    expect(KernelError.is(foreign, 'ABORTED')).toBe(false)
    expect(KernelError.from(foreign)).toBe(foreign)
  })

  it.each([undefined, null, 'text', 1, {}, new Error('no'), { code: 'ABORTED', message: 'no' }])(
    'does not take %o for one of its own',
    (value) => expect(KernelError.is(value)).toBe(false),
  )

  it('prints its name, and keeps cause, retryable and details', () => {
    const cause = new Error('socket closed')
    const error = new KernelError('MODEL_FAILED', 'model: gone', { cause, retryable: true, details: { status: 503 } })
    expect(String(error)).toBe('KernelError: model: gone')
    expect(error).toMatchObject({ cause, retryable: true, details: { status: 503 } })
    expect('cause' in new KernelError('ABORTED', 'stop')).toBe(false)
  })

  it('survives JSON in both directions', () => {
    const details = fc
      .dictionary(fc.string(), fc.jsonValue({ maxDepth: 2 }) as fc.Arbitrary<string>)
      .filter((value) => !JSON.stringify(value).includes('__proto__'))
    fc.assert(
      fc.property(fc.string(), fc.string(), fc.boolean(), details, (code, message, retryable, given) => {
        const error = new KernelError(code, message, { retryable, details: JSON.parse(JSON.stringify(given)) })
        const back = KernelError.from(JSON.parse(JSON.stringify(error)))
        expect(back).toMatchObject({ code, message, retryable })
        expect(back.details).toEqual(error.details)
      }),
    )
  })

  it('leaves out of its JSON what says nothing', () => {
    expect(new KernelError('ABORTED', 'stop').toJSON()).toEqual({ code: 'ABORTED', message: 'stop' })
  })

  it('is made of anything that was thrown, with the code it is given', () => {
    const thrown = new TypeError('x is not a function')
    expect(KernelError.from(thrown, 'TOOL_FAILED')).toMatchObject({
      code: 'TOOL_FAILED',
      message: 'x is not a function',
      cause: thrown,
    })
    expect(KernelError.from('no').message).toBe('no')
    expect(KernelError.from(undefined)).toMatchObject({ code: 'AGENT_FAILED', message: 'thrown value, got undefined' })
    expect(KernelError.from({ reason: 1 }).message).toBe('thrown value, got an object')
    expect(KernelError.from(Symbol('s')).message).toBe('thrown value, got Symbol(s)')
  })

  it('takes the code of a system error for its cause, not for its own', () => {
    const error = Object.assign(new Error('connect refused'), { code: 'ECONNREFUSED', syscall: 'connect' })
    expect(KernelError.from(error, 'MODEL_FAILED').code).toBe('MODEL_FAILED')
    const ofNode = Object.assign(new TypeError('Invalid URL'), { code: 'ERR_INVALID_URL' })
    expect(KernelError.from(ofNode, 'TOOL_FAILED').code).toBe('TOOL_FAILED')
  })

  it('keeps the code and the details that an application gave its error', () => {
    const error = Object.assign(new Error('declined'), { code: 'PAYMENT_DECLINED', details: { bank: 'x' } })
    expect(KernelError.from(error, 'TOOL_FAILED').toJSON()).toEqual({
      code: 'PAYMENT_DECLINED',
      message: 'declined',
      details: { bank: 'x' },
    })
  })

  it('keeps that an application says its error may pass', () => {
    const error = Object.assign(new Error('busy'), { code: 'MODEL_OVERLOADED', retryable: true })
    expect(KernelError.from(error).retryable).toBe(true)
  })

  it.each(['ABORTED', 'INTERRUPTED'])('lets no foreign error steer a run with the code %s', (code) => {
    expect(KernelError.from(Object.assign(new Error('x'), { code }), 'TOOL_FAILED').code).toBe('TOOL_FAILED')
  })

  it('adds a frame without hiding code, details and retryable', () => {
    const inner = new KernelError('RATE_LIMITED', 'too fast', { retryable: true, details: { limit: 3 } })
    const framed = KernelError.within('handler a: ', inner, 'HANDLER_FAILED', { handler: 'a' })
    expect(framed.toJSON()).toEqual({
      code: 'RATE_LIMITED',
      message: 'handler a: too fast',
      retryable: true,
      details: { limit: 3, handler: 'a' },
    })
    expect(framed.cause).toBe(inner)
    expect(KernelError.within('m: ', new Error('x'), 'HANDLER_FAILED').code).toBe('HANDLER_FAILED')
    expect(KernelError.within('m: ', new KernelError('ABORTED', 'x'), 'HANDLER_FAILED').code).toBe('HANDLER_FAILED')
  })
})

describe('got', () => {
  it.each([
    ['wether', 'got "wether"'],
    ['x'.repeat(100), `got "${'x'.repeat(60)}…"`],
    [[], 'got an array'],
    [{}, 'got an object'],
    [() => 1, 'got a function'],
    [undefined, 'got undefined'],
    [null, 'got null'],
    [3, 'got 3'],
  ])('names %o', (value, text) => expect(got(value)).toBe(text))
})

it('checkOption says who expected what, and nothing where it is fine', () => {
  expect(() => checkOption(false, 'logging', 'prefix is a text', 7)).toThrow(
    expect.objectContaining({ code: 'CONFIG_INVALID', message: 'logging: prefix is a text, got 7' }),
  )
  expect(checkOption(true, 'logging', 'prefix is a text', '')).toBeUndefined()
})
