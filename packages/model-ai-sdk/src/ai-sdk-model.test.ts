import { getEventListeners } from 'node:events'
import type { LanguageModelV4, LanguageModelV4StreamPart } from '@ai-sdk/provider'
import { KernelError, type Message, type ModelPart } from '@troupe/kernel'
import { PIPE, pipe } from '@troupe/kernel/kit'
import { testModel } from '@troupe/testkit'
import { describe, expect, it } from 'vitest'
import { ask, request, user } from './ask.fixture.ts'
import { type FakeScript, fakeModel, finish, text } from './fake-model.fixture.ts'
import { aiSdkModel } from './index.ts'

const ANSWER: readonly LanguageModelV4StreamPart[] = [
  { type: 'stream-start', warnings: [] },
  { type: 'reasoning-start', id: 'r' },
  { type: 'reasoning-delta', id: 'r', delta: 'Hm' },
  { type: 'reasoning-end', id: 'r', providerMetadata: { fake: { signature: 's' } } },
  ...text('1', 'Hel', 'lo'),
  { type: 'tool-input-start', id: 'a', toolName: 'x' },
  { type: 'tool-input-start', id: 'b', toolName: 'y' },
  { type: 'tool-input-delta', id: 'b', delta: '{' },
  { type: 'tool-input-delta', id: 'a', delta: '{}' },
  { type: 'tool-input-delta', id: 'b', delta: '}' },
  { type: 'tool-call', toolCallId: 'a', toolName: 'x', input: '{}' },
  { type: 'tool-call', toolCallId: 'b', toolName: 'y', input: '{}' },
  finish('tool-calls'),
]

const failing: Record<string, FakeScript> = {
  'fails to open': { open: () => Promise.reject(new Error('no')) },
  'throws at once': {
    open: () => {
      throw new Error('no')
    },
  },
  'opens nothing': { open: () => Promise.resolve({ stream: undefined as never }) },
  'opens an invalid result': { open: () => Promise.resolve(undefined as never) },
  'breaks at once': { end: { error: new Error('no') } },
  'breaks in between': { parts: ANSWER.slice(0, 4), end: { error: new Error('no') } },
  'reports an error': { parts: [{ type: 'error', error: 'no' }], end: 'hang' },
  'ends without a word': {},
  'ends without finish': { parts: ANSWER.slice(0, -1) },
  'sends an invalid part': { parts: [undefined], end: 'hang' },
}
testModel('aiSdkModel', () => aiSdkModel(fakeModel({ parts: ANSWER })), {
  failing: () => aiSdkModel(fakeModel({ parts: ANSWER.slice(0, 4), end: { error: new Error('no') } })),
})
testModel('aiSdkModel on a provider that hangs after its answer', () =>
  aiSdkModel(fakeModel({ parts: ANSWER, end: 'hang' })),
)

const stop = new KernelError('ABORTED', 'test: stop')
const outcome = (work: Promise<unknown>) =>
  work.then(
    (value) => ({ value }),
    (error: unknown) => ({ error }),
  )
/** Lets everything happen that waits for nothing. */
const idle = () => new Promise((resolve) => setImmediate(resolve))
const listeners = (signal: AbortSignal) => getEventListeners(signal, 'abort').length

describe('making a model', () => {
  it('is named after vendor and model', () => {
    expect(aiSdkModel(fakeModel({ provider: 'openai.responses' })).name).toBe('openai:fake-1')
    expect(aiSdkModel(fakeModel({ provider: 'ollama' })).name).toBe('ollama:fake-1')
    expect(aiSdkModel(fakeModel(), { name: 'mine' }).name).toBe('mine')
  })

  it.each([
    [{ ...fakeModel(), specificationVersion: 'v3' }, 'specification v3'],
    [{ specificationVersion: 'v4' }, 'specification v4'],
    ['openai/gpt-5', 'string'],
    [undefined, 'undefined'],
    [null, 'object'],
  ])('refuses anything but a model of specification v4', (model, got) => {
    expect(() => aiSdkModel(model as unknown as LanguageModelV4)).toThrow(
      expect.objectContaining({ code: 'CONFIG_INVALID', message: expect.stringContaining(`got ${got}`) }),
    )
  })

  it('asks nothing before it is read', async () => {
    const provider = fakeModel({ parts: ANSWER })
    const { signal } = new AbortController()
    const iterator = aiSdkModel(provider).stream(request(), { signal })[Symbol.asyncIterator]()
    await iterator.return?.()
    expect(await iterator.next()).toEqual({ value: undefined, done: true })
    expect([provider.calls.length, listeners(signal)]).toEqual([0, 0])
  })

  it('is read once', async () => {
    const stream = aiSdkModel(fakeModel({ parts: ANSWER })).stream(request(), { signal: new AbortController().signal })
    for await (const _ of stream);
    expect(() => stream[Symbol.asyncIterator]()).toThrow(expect.objectContaining({ code: 'STREAM_CONSUMED' }))
  })

  it('passes defaults and the request on', async () => {
    const provider = fakeModel({ parts: ANSWER })
    await ask(aiSdkModel(provider, { defaults: { seed: 7 } }), request([user('Hi')], { options: { temperature: 0 } }))
    expect(provider.calls).toMatchObject([
      { seed: 7, temperature: 0, prompt: [{ role: 'system', content: 'Be brief.' }, { role: 'user' }] },
    ])
  })

  it.each([
    ['google.generative-ai', undefined, 'user'],
    ['google.vertex.chat', undefined, 'user'],
    ['openai.chat', undefined, 'system'],
    ['google.generative-ai', 'system' as const, 'system'],
  ])('sends a late system message to %s (%s) as %s', async (provider, lateSystemRole, role) => {
    const model = fakeModel({ provider, parts: ANSWER })
    const note: Message = { id: 's', role: 'system', content: 'Now in French.' }
    await ask(aiSdkModel(model, lateSystemRole ? { lateSystemRole } : {}), request([user('Hi'), note]))
    expect(model.calls[0]?.prompt.at(-1)?.role).toBe(role)
  })
})

describe('errors', () => {
  it.each(Object.entries(failing))('a provider that %s fails with a code, and is let go of', async (_, script) => {
    const provider = fakeModel(script)
    const { signal } = new AbortController()
    await expect(ask(aiSdkModel(provider), request(), signal)).rejects.toMatchObject({ code: 'MODEL_FAILED' })
    expect(listeners(signal)).toBe(0)
  })

  it('an error in the middle follows the parts before it', async () => {
    const error = { message: 'Overloaded', statusCode: 529, isRetryable: true }
    const provider = fakeModel({ parts: [...text('1', 'Hi'), { type: 'error', error }], end: 'hang' })
    const parts: ModelPart[] = []
    const reading = (async () => {
      for await (const part of aiSdkModel(provider).stream(request(), { signal: new AbortController().signal }))
        parts.push(part)
    })()
    await expect(reading).rejects.toMatchObject({ code: 'MODEL_OVERLOADED', retryable: true, details: { status: 529 } })
    expect(parts).toEqual([{ type: 'text-delta', delta: 'Hi' }, { type: 'part-end' }])
    expect(provider.cancelled).toHaveLength(1)
    expect(provider.calls[0]?.abortSignal?.aborted).toBe(true)
  })

  it('an answer without finish may be retried', async () => {
    await expect(ask(aiSdkModel(fakeModel({ parts: text('1', 'Hi') })))).rejects.toMatchObject({
      code: 'MODEL_FAILED',
      retryable: true,
      message: 'fake:fake-1: the stream ended before the answer was complete',
    })
  })

  it('a file that cannot be sent is refused before the provider is asked', async () => {
    const provider = fakeModel({ parts: ANSWER })
    const file = { type: 'file' as const, mediaType: 'image/png', url: 'nowhere' }
    await expect(ask(aiSdkModel(provider), request([user([file])]))).rejects.toMatchObject({
      code: 'MODEL_REQUEST_INVALID',
    })
    expect(provider.calls).toEqual([])
  })

  it('what the reader of a pipe throws is not an error of the model', async () => {
    const provider = fakeModel({ parts: ANSWER, end: 'hang' })
    const mine = new Error('mine')
    const stream = aiSdkModel(provider).stream(request(), { signal: new AbortController().signal })
    expect(PIPE in stream).toBe(true)
    const write = () => {
      throw mine
    }
    await expect(pipe(stream, { write })).rejects.toBe(mine)
    expect([provider.cancelled.length, provider.calls[0]?.abortSignal?.aborted]).toEqual([1, true])
  })
})

describe('aborting and leaving', () => {
  const silent: Record<string, FakeScript> = {
    'does not answer': { open: () => new Promise(() => {}) },
    'says nothing': { end: 'hang' },
    'stops in the middle': { parts: text('1', 'Hi'), end: 'hang' },
  }

  it.each(Object.entries(silent))('an abort ends the call of a provider that %s', async (_, script) => {
    const controller = new AbortController()
    const work = outcome(ask(aiSdkModel(fakeModel(script)), request(), controller.signal))
    await idle()
    expect(listeners(controller.signal)).toBe(1)
    controller.abort(stop)
    expect(await work).toEqual({ error: stop })
    expect(listeners(controller.signal)).toBe(0)
  })

  it('any reason is passed on as it is', async () => {
    const controller = new AbortController()
    const work = outcome(ask(aiSdkModel(fakeModel({ end: 'hang' })), request(), controller.signal))
    await idle()
    controller.abort('enough')
    expect(await work).toEqual({ error: 'enough' })
  })

  it('the provider sees the abort, and its own complaint about it is not shown', async () => {
    const controller = new AbortController()
    const provider = fakeModel({
      open: () =>
        new Promise((_, reject) => {
          provider.calls[0]?.abortSignal?.addEventListener('abort', () => reject(new DOMException('x', 'AbortError')))
        }),
    })
    const work = outcome(ask(aiSdkModel(provider), request(), controller.signal))
    await idle()
    controller.abort(stop)
    expect(await work).toEqual({ error: stop })
    expect(provider.calls[0]?.abortSignal?.reason).toBe(stop)
  })

  it('a stream that opens after the abort is cancelled', async () => {
    const controller = new AbortController()
    const late = Promise.withResolvers<void>()
    const provider = fakeModel({ open: (stream) => late.promise.then(() => ({ stream })) })
    const work = outcome(ask(aiSdkModel(provider), request(), controller.signal))
    await idle()
    controller.abort(stop)
    await work
    late.resolve()
    await idle()
    expect(provider.cancelled).toEqual([stop])
  })

  it.each(Object.entries(silent))('leaving ends the call of a provider that %s', async (_, script) => {
    const provider = fakeModel(script)
    const { signal } = new AbortController()
    const iterator = aiSdkModel(provider).stream(request(), { signal })[Symbol.asyncIterator]()
    for (let i = 0; i < 2 && script.parts; i++) await iterator.next()
    const pending = iterator.next()
    await idle()
    expect(listeners(signal)).toBe(1)
    const left = iterator.return?.()
    expect(listeners(signal)).toBe(0)
    await left
    expect(await pending).toEqual({ value: undefined, done: true })
    expect(provider.calls[0]?.abortSignal?.aborted).toBe(true)
    if (!script.open) expect(provider.cancelled).toHaveLength(1)
  })

  it('a complete answer aborts nothing, and frees the stream of a provider that hangs after it', async () => {
    const provider = fakeModel({ parts: ANSWER, end: 'hang' })
    await ask(aiSdkModel(provider))
    expect([provider.cancelled.length, provider.calls[0]?.abortSignal?.aborted]).toEqual([1, false])
  })

  it('a slow reader slows the provider', async () => {
    const provider = fakeModel({
      parts: Array.from({ length: 100 }, () => ({ type: 'text-delta', id: '1', delta: 'x' })),
    })
    const { signal } = new AbortController()
    const iterator = aiSdkModel(provider).stream(request(), { signal })[Symbol.asyncIterator]()
    await iterator.next()
    await idle()
    expect(provider.sent).toBeLessThan(5)
    await iterator.return?.()
  })
})
