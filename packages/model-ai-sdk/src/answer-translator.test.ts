import type { LanguageModelV4StreamPart } from '@ai-sdk/provider'
import type { ModelPart } from '@troupe/kernel'
import { describe, expect, it } from 'vitest'
import { AnswerTranslator } from './answer-translator.ts'
import { messageOf } from './ask.fixture.ts'
import { finish, text, usage } from './fake-model.fixture.ts'

const END: ModelPart = { type: 'finish', reason: 'stop', usage: { inputTokens: 3, outputTokens: 5 } }

/** The parts of a whole answer. */
function translated(...parts: readonly unknown[]): ModelPart[] {
  const answer = new AnswerTranslator('fake:fake-1', 'fake')
  return parts.flatMap((part) => answer.translate(part as LanguageModelV4StreamPart))
}

/** The same, with a finish that is checked and cut off. */
function contentOf(...parts: readonly unknown[]): ModelPart[] {
  const all = translated(...parts, finish())
  expect(all.at(-1)).toEqual(END)
  return all.slice(0, -1)
}

describe('text and reasoning', () => {
  it('a block is its deltas and an end', () => {
    expect(contentOf(...text('1', 'Hel', 'lo'))).toEqual([
      { type: 'text-delta', delta: 'Hel' },
      { type: 'text-delta', delta: 'lo' },
      { type: 'part-end' },
    ])
  })

  it('an empty block leaves no trace', () => {
    expect(
      contentOf(
        ...text('1'),
        ...text('2', ''),
        { type: 'reasoning-start', id: '1' },
        { type: 'reasoning-end', id: '1' },
      ),
    ).toEqual([])
  })

  it('an empty block that the vendor wants back is opened by an empty delta', () => {
    const metadata = { anthropic: { redactedData: 'x' } }
    expect(
      contentOf({ type: 'reasoning-start', id: '0', providerMetadata: metadata }, { type: 'reasoning-end', id: '0' }),
    ).toEqual([
      { type: 'reasoning-delta', delta: '' },
      { type: 'part-end', metadata },
    ])
  })

  it('a signature that comes with an empty delta goes with the end, and the last word counts', () => {
    expect(
      contentOf(
        { type: 'reasoning-start', id: '0', providerMetadata: { anthropic: { signature: 'early' } } },
        { type: 'reasoning-delta', id: '0', delta: 'Hm' },
        { type: 'reasoning-delta', id: '0', delta: '', providerMetadata: { anthropic: { signature: 'late' } } },
        { type: 'reasoning-end', id: '0' },
      ),
    ).toEqual([
      { type: 'reasoning-delta', delta: 'Hm' },
      { type: 'part-end', metadata: { anthropic: { signature: 'late' } } },
    ])
  })

  it('interleaved blocks become parts in the order of their deltas, and lose no metadata', () => {
    const { content } = messageOf(
      contentOf(
        { type: 'reasoning-start', id: 'a' },
        { type: 'reasoning-delta', id: 'a', delta: 'one' },
        { type: 'reasoning-start', id: 'b' },
        { type: 'reasoning-delta', id: 'b', delta: 'two' },
        { type: 'text-delta', id: 'a', delta: 'Hi' },
        { type: 'reasoning-end', id: 'a', providerMetadata: { v: { key: 'a' } } },
        { type: 'reasoning-end', id: 'b', providerMetadata: { v: { key: 'b' } } },
        { type: 'text-end', id: 'a' },
      ),
    )
    expect(content).toEqual([
      { type: 'reasoning', text: 'one' },
      { type: 'reasoning', text: 'two' },
      { type: 'text', text: 'Hi' },
      { type: 'reasoning', text: '', metadata: { v: { key: 'a' } } },
      { type: 'reasoning', text: '', metadata: { v: { key: 'b' } } },
    ])
  })

  it('deltas without a start, and blocks without an end, are still translated', () => {
    expect(
      contentOf(
        { type: 'reasoning-start', id: '1', providerMetadata: { v: { a: 1 } } },
        { type: 'text-delta', id: '2', delta: 'Hi' },
      ),
    ).toEqual([
      { type: 'text-delta', delta: 'Hi' },
      { type: 'part-end' },
      { type: 'reasoning-delta', delta: '' },
      { type: 'part-end', metadata: { v: { a: 1 } } },
    ])
  })

  it.each([
    ['that streams', { type: 'tool-input-start', id: 'c', toolName: 't' }],
    ['that comes whole', { type: 'tool-call', toolCallId: 'c', toolName: 't', input: '' }],
    ['that is a file', { type: 'file', mediaType: 'image/png', data: { type: 'data', data: '' } }],
  ])('another part %s closes the open text, so that its metadata is not lost', (_, part) => {
    const metadata = { google: { thoughtSignature: 's' } }
    const parts = contentOf(
      { type: 'text-start', id: '1' },
      { type: 'text-delta', id: '1', delta: 'Hi', providerMetadata: metadata },
      part,
      { type: 'text-end', id: '1' },
    )
    expect(parts.slice(0, 2)).toEqual([
      { type: 'text-delta', delta: 'Hi' },
      { type: 'part-end', metadata },
    ])
    expect(parts.filter(({ type }) => type === 'part-end')).toHaveLength(1)
  })

  it.each([
    ['a string', 'x'],
    ['null', null],
    ['a list', [1]],
    ['a provider without an object', { v: 'x', w: null, x: [1] }],
    ['an empty object', { v: {} }],
    ['nothing but undefined', { v: { a: undefined } }],
    ['a big integer', { v: { a: 1n } }],
    ['a circle', { v: circle() }],
  ])('metadata that is %s is left out', (_, providerMetadata) => {
    expect(
      contentOf({ type: 'text-delta', id: '1', delta: 'Hi' }, { type: 'text-end', id: '1', providerMetadata }),
    ).toEqual([{ type: 'text-delta', delta: 'Hi' }, { type: 'part-end' }])
  })

  it('metadata becomes plain JSON', () => {
    const providerMetadata = { v: { at: new Date(0), gone: undefined, list: [1] }, w: 3 }
    expect(
      contentOf({ type: 'text-delta', id: '1', delta: 'Hi' }, { type: 'text-end', id: '1', providerMetadata }).at(-1),
    ).toStrictEqual({
      type: 'part-end',
      metadata: { v: { at: '1970-01-01T00:00:00.000Z', list: [1] } },
    })
  })
})

describe('files', () => {
  it('bytes, base64 and links become file parts', () => {
    const bytes = new Uint8Array([0, 104, 105]).subarray(1)
    expect(
      contentOf(
        { type: 'file', mediaType: 'text/plain', data: { type: 'data', data: bytes } },
        {
          type: 'file',
          mediaType: 'image/png',
          data: { type: 'data', data: 'aGk=' },
          providerMetadata: { v: { a: 1 } },
        },
        { type: 'file', mediaType: 'image/png', data: { type: 'url', url: new URL('https://x.test/a.png') } },
      ),
    ).toEqual([
      { type: 'file', file: { type: 'file', mediaType: 'text/plain', data: 'aGk=' } },
      { type: 'file', file: { type: 'file', mediaType: 'image/png', data: 'aGk=', metadata: { v: { a: 1 } } } },
      { type: 'file', file: { type: 'file', mediaType: 'image/png', url: 'https://x.test/a.png' } },
    ])
  })

  it('a file of any size and any bytes is kept, byte by byte', () => {
    const bytes = Uint8Array.from({ length: 300_001 }, (_, i) => i % 251)
    expect(contentOf({ type: 'file', mediaType: 'image/png', data: { type: 'data', data: bytes } })).toEqual([
      { type: 'file', file: { type: 'file', mediaType: 'image/png', data: Buffer.from(bytes).toString('base64') } },
    ])
  })
})

describe('tool calls', () => {
  const start = (id: string, more = {}) => ({ type: 'tool-input-start', id, toolName: 't', ...more })
  const delta = (id: string, piece: string) => ({ type: 'tool-input-delta', id, delta: piece })
  const end = (id: string, more = {}) => ({ type: 'tool-input-end', id, ...more })
  const call = (id: string, input: unknown, more = {}) => ({
    type: 'tool-call',
    toolCallId: id,
    toolName: 't',
    input,
    ...more,
  })
  const calls = (...parts: readonly unknown[]) => {
    const all = contentOf(...parts)
    const { toolCalls } = messageOf(all)
    expect(all.filter(({ type }) => type === 'tool-call-end')).toHaveLength(toolCalls.length)
    return toolCalls
  }

  it('arguments stream, and the complete call adds its metadata', () => {
    const metadata = { openai: { itemId: 'fc1' } }
    expect(
      contentOf(
        start('c'),
        delta('c', '{"a"'),
        delta('c', ''),
        delta('c', ':1}'),
        end('c'),
        call('c', '{"a":1}', { providerMetadata: metadata }),
      ),
    ).toEqual([
      { type: 'tool-call-start', callId: 'c', name: 't' },
      { type: 'tool-call-delta', callId: 'c', delta: '{"a"' },
      { type: 'tool-call-delta', callId: 'c', delta: ':1}' },
      { type: 'tool-call-end', callId: 'c', metadata },
    ])
  })

  it('interleaved inputs stay apart', () => {
    expect(
      calls(
        start('a'),
        start('b'),
        delta('b', '{"b"'),
        delta('a', '{"a"'),
        delta('b', ':2}'),
        delta('a', ':1}'),
        end('b'),
        end('a'),
        call('a', '{"a":1}'),
        call('b', '{"b":2}'),
      ),
    ).toEqual([
      { id: 'a', name: 't', arguments: '{"a":1}' },
      { id: 'b', name: 't', arguments: '{"b":2}' },
    ])
  })

  it('a call that never streamed is written whole', () => {
    expect(calls(call('c', '{"a":1}'))).toEqual([{ id: 'c', name: 't', arguments: '{"a":1}' }])
  })

  it('arguments that the deltas lack follow with the complete call', () => {
    expect(calls(start('c'), delta('c', '{"a'), call('c', '{"a":1}'))).toEqual([
      { id: 'c', name: 't', arguments: '{"a":1}' },
    ])
  })

  it('a complete call that contradicts its deltas does not change them', () => {
    expect(calls(start('c'), delta('c', '{"a":1}'), call('c', '{ "a": 1 }'))).toEqual([
      { id: 'c', name: 't', arguments: '{"a":1}' },
    ])
  })

  it('deltas that are plain text are not shown as JSON', () => {
    expect(calls(start('c', { inputEncoding: 'text' }), delta('c', 'ls -l'), end('c'), call('c', '"ls -l"'))).toEqual([
      { id: 'c', name: 't', arguments: '"ls -l"' },
    ])
  })

  it('arguments that are not text are written as JSON', () => {
    expect(calls(call('c', { a: 1 }), call('d', undefined))).toEqual([
      { id: 'c', name: 't', arguments: '{"a":1}' },
      { id: 'd', name: 't', arguments: '{}' },
    ])
  })

  it('malformed arguments pass as the model wrote them', () => {
    expect(calls(start('c'), delta('c', '{"a":'), end('c'), call('c', '{"a":'))).toEqual([
      { id: 'c', name: 't', arguments: '{"a":' },
    ])
  })

  it('calls left open by a cut answer are ended', () => {
    const metadata = { v: { a: 1 } }
    expect(calls(start('c'), delta('c', '{"a'), end('c', { providerMetadata: metadata }), start('d'))).toEqual([
      { id: 'c', name: 't', arguments: '{"a', metadata },
      { id: 'd', name: 't', arguments: '' },
    ])
  })

  it('calls of one answer never share an id', () => {
    expect(
      calls(call('c', '{"a":1}'), call('c', '{"a":2}'), start('c'), start('c'), call('', '1'), call('', '2')),
    ).toEqual(
      [
        ['c', '{"a":1}'],
        ['c-2', '{"a":2}'],
        ['c-3', ''],
        ['c-4', ''],
        ['call', '1'],
        ['call-2', '2'],
      ].map(([id, args]) => ({ id, name: 't', arguments: args })),
    )
  })

  it('deltas and ends of unknown calls are ignored', () => {
    expect(contentOf(delta('c', '{}'), end('c'))).toEqual([])
  })

  it('what the vendor executes itself is left out', () => {
    expect(
      contentOf(
        { type: 'text-delta', id: '1', delta: 'Look' },
        start('w', { providerExecuted: true }),
        delta('w', '{"q":1}'),
        end('w'),
        call('w', '{"q":1}', { providerExecuted: true }),
        call('x', '{}', { providerExecuted: true }),
        { type: 'tool-result', toolCallId: 'w', toolName: 't', result: {} },
        { type: 'tool-approval-request', approvalId: 'a', toolCallId: 'w' },
        { type: 'text-delta', id: '1', delta: 'ing' },
      ),
    ).toEqual([{ type: 'text-delta', delta: 'Look' }, { type: 'text-delta', delta: 'ing' }, { type: 'part-end' }])
  })
})

describe('the end', () => {
  it.each([
    ['stop', 'stop'],
    ['length', 'length'],
    ['content-filter', 'content-filter'],
    ['tool-calls', 'tool-calls'],
    ['error', 'error'],
    ['other', 'other'],
    ['something new', 'other'],
  ])('the reason %s is %s', (unified, reason) => {
    expect(translated(finish(unified as never))).toEqual([{ ...END, reason }])
  })

  it('tokens are counted in whole numbers, and only what the vendor counts', () => {
    const counted = (inputTokens: object, outputTokens: object) =>
      translated({ ...finish(), usage: { inputTokens, outputTokens } }).at(-1)
    expect(counted({ total: 10, cacheRead: 4, cacheWrite: 3 }, { total: 7, reasoning: 2 })).toMatchObject({
      usage: { inputTokens: 10, outputTokens: 7, reasoningTokens: 2, cachedInputTokens: 4, cacheWriteTokens: 3 },
    })
    expect(counted({ total: undefined, cacheRead: undefined }, { total: Number.NaN, reasoning: -1 })).toMatchObject({
      usage: { inputTokens: 0, outputTokens: 0, reasoningTokens: 0 },
    })
    expect(counted({ total: 1.4 }, { total: Number.POSITIVE_INFINITY })).toMatchObject({
      usage: { inputTokens: 1, outputTokens: 0 },
    })
  })

  it('says which model answered, and what the vendor adds', () => {
    expect(
      translated(
        { type: 'response-metadata', modelId: 'fake-1-2026' },
        { ...finish(), usage: usage(1, 2), providerMetadata: { v: { a: 1 } } },
      ),
    ).toEqual([
      {
        type: 'finish',
        reason: 'stop',
        usage: { inputTokens: 1, outputTokens: 2 },
        model: 'fake:fake-1-2026',
        metadata: { v: { a: 1 } },
      },
    ])
  })

  it('what comes after the finish is ignored, errors too', () => {
    expect(translated(finish(), ...text('1', 'more'), finish(), { type: 'error', error: new Error('late') })).toEqual([
      END,
    ])
  })

  it('an interrupted answer is a failure that may be retried', () => {
    expect(() => translated(...text('1', 'Hi'), finish('interrupted'))).toThrow(
      expect.objectContaining({ code: 'MODEL_FAILED', retryable: true }),
    )
  })

  it('parts that have no place in an answer, or are not known, are ignored', () => {
    expect(
      contentOf(
        { type: 'stream-start', warnings: [] },
        { type: 'response-metadata' },
        { type: 'ping' },
        { type: 'raw', rawValue: {} },
        { type: 'source', sourceType: 'url', id: 's', url: 'https://x.test' },
        { type: 'custom', kind: 'v.thing' },
        { type: 'reasoning-file', mediaType: 'image/png', data: { type: 'data', data: '' } },
        { type: 'from the future' },
        {},
      ),
    ).toEqual([])
  })
})

function circle(): object {
  const value: Record<string, unknown> = {}
  value.self = value
  return value
}
