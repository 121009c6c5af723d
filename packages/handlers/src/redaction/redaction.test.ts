import { KernelError, type Message, type ModelPart, type Part, stream, type ToolCallResult } from '@troupe/kernel'
import { testHandler } from '@troupe/testkit'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { assistant, callOf, contextOf, user, wrapped } from '../handlers.fixture.ts'
import { answer, ask, FINISH, REQUEST } from '../model-calls.fixture.ts'
import { EMAIL } from './personal-data.ts'
import { type RedactionOptions, redaction } from './redaction.ts'

const rules: RedactionOptions['rules'] = [EMAIL, { name: 'codename', match: 'Blue "bird"' }]
const handler = redaction({ rules })

testHandler('redaction', () => redaction({ rules }))

async function through(...parts: readonly ModelPart[]): Promise<readonly ModelPart[]> {
  return ask(handler, contextOf(), answer([...parts, FINISH]))
}

/** What readers make of the parts: the text, the reasoning, and the arguments of each call. */
function read(parts: readonly ModelPart[]) {
  const joined = { text: '', reasoning: '', arguments: '' }
  for (const part of parts) {
    if (part.type === 'text-delta') joined.text += part.delta
    if (part.type === 'reasoning-delta') joined.reasoning += part.delta
    if (part.type === 'tool-call-delta') joined.arguments += part.delta
  }
  return joined
}

const call = (text: string): readonly ModelPart[] => [
  { type: 'tool-call-start', callId: 'c', name: 'mail' },
  ...[...text].map((delta) => ({ type: 'tool-call-delta', callId: 'c', delta }) as const),
  { type: 'tool-call-end', callId: 'c' },
]

describe('an answer', () => {
  it('has matches replaced in its text, its reasoning and the arguments of its calls', async () => {
    const parts = await through(
      ...[...'Ask ann@example.com'].map((delta) => ({ type: 'reasoning-delta', delta }) as const),
      ...[...'Blue "bird" is ann@example.com!'].map((delta) => ({ type: 'text-delta', delta }) as const),
      ...call('{"to":"ann\\u0040example.com","n":1}'),
    )
    expect(read(parts)).toEqual({
      text: '[codename] is [email]!',
      reasoning: 'Ask [email]',
      arguments: '{"to":"[email]","n":1}',
    })
  })

  it.each([
    ['{"a":"Blue \\"bird\\""}', '{"a":"[codename]"}'],
    ['{"ann@example.com":1}', '{"[email]":1}'],
    ['{"a":"ann@example.com","a":"x"}', '{"a":"[email]","a":"x"}'],
    ['{"a":"ann@example.com', '{"a":"[email]'],
    ['{"a" : 1}', '{"a" : 1}'],
    ['', ''],
  ])('has arguments %s as %s', async (text, expected) => {
    expect(read(await through(...call(text))).arguments).toBe(expected)
  })

  it('shows what is held before its part, its call and itself end', async () => {
    const held = { type: 'text-delta', delta: 'word' } as const
    const parts = await through(held, { type: 'part-end' }, held, ...call('{}'), held)
    expect(parts.map(({ type }) => type)).toEqual([
      ...['text-delta', 'part-end', 'text-delta'],
      ...['tool-call-start', 'tool-call-delta', 'tool-call-end'],
      ...['text-delta', 'finish'],
    ])
  })

  it('begins anew with another attempt', async () => {
    const parts = await through(
      { type: 'text-delta', delta: 'ann@' },
      { type: 'restart' },
      { type: 'text-delta', delta: 'example.com' },
    )
    expect(read(parts).text).toBe('example.com')
  })

  it('whose model fails has an error without matches', async () => {
    const error = new KernelError('MODEL_FAILED', 'refused "ann@example.com"', { details: { to: 'ann@example.com' } })
    await expect(ask(handler, contextOf(), answer([], error))).rejects.toMatchObject({
      code: 'MODEL_FAILED',
      message: 'refused "[email]"',
      details: { to: '[email]' },
    })
    const other = new KernelError('MODEL_FAILED', 'busy')
    await expect(ask(handler, contextOf(), answer([], other))).rejects.toBe(other)
  })
})

describe('an answer that is JSON by the request', () => {
  const request = { ...REQUEST, options: { responseSchema: { type: 'object' } } }
  const shown = async (...parts: readonly ModelPart[]) => ask(handler, contextOf(), answer([...parts, FINISH]), request)
  const said = (delta: string) => ({ type: 'text-delta', delta }) as const
  const end = { type: 'part-end' } as const

  it.each([
    ['{"to":"ann\\u0040example.com"}', '{"to":"[email]"}'],
    ['{"to":"ann\\u0040example.com","to":""}', '{"to":"[email]","to":""}'],
    ['{"to":"Blue \\"bird\\""}', '{"to":"[codename]"}'],
    ['```json\n{"to":"Blue \\u0022bird\\u0022"}\n```', '```json\n{"to":"[codename]"}\n```'],
    ['{"to":"ann\\u0040example.com', '{"to":"[email]'],
    ['{"to" : "\\u0062ob"}', '{"to" : "\\u0062ob"}'],
  ])('has matches replaced in what it means: %s', async (text, expected) => {
    expect(read(await shown(...[...text].map(said))).text).toBe(expected)
    expect(read(await shown(...[...text].flatMap((sign) => [said(sign), end]))).text).toBe(expected)
  })

  it('is shown with the end of its part, which has what the vendor needs back', async () => {
    const parts = await shown(said('{"a":'), said('1}'), end)
    expect(parts).toEqual([said('{"a":1}'), end, FINISH])
  })

  it('is shown before a call, and begins anew with another attempt', async () => {
    const types = (await shown(said('Let me look.'), ...call('{}'))).map(({ type }) => type)
    expect(types).toEqual(['text-delta', 'tool-call-start', 'tool-call-delta', 'tool-call-end', 'finish'])
    expect(read(await shown(said('{"a":'), { type: 'restart' }, said('{"b":1}'))).text).toBe('{"b":1}')
  })
})

describe('the name of a tool', () => {
  const named = async (name: string, offered: readonly string[]) => {
    const tools = offered.map((tool) => ({ name: tool, description: '', parameters: {} }))
    const parts = await ask(handler, contextOf(), answer([{ type: 'tool-call-start', callId: 'c', name }, FINISH]), {
      ...REQUEST,
      tools,
    })
    return parts.flatMap((part) => (part.type === 'tool-call-start' ? part.name : []))
  }

  it('that the model made up has matches replaced, in signs that vendors accept', async () => {
    expect(await named('ann@example.com', ['look'])).toEqual(['_email_'])
    expect(await named('search', ['look'])).toEqual(['search'])
  })

  it('that the request offers stays', async () => {
    expect(await named('ann@example.com', ['ann@example.com'])).toEqual(['ann@example.com'])
  })
})

describe('a tool result', () => {
  const result = (value: ToolCallResult) => wrapped(handler, async () => value)(contextOf(), callOf())

  it('has matches replaced wherever they are', async () => {
    const found = await result({
      content: [
        { type: 'text', text: 'to ann@exam' },
        { type: 'text', text: 'ple.com' },
      ],
      display: 'ann@example.com',
      data: { 'ann@example.com': ['Blue "bird"', 7] },
      error: { code: 'X', message: 'no ann@example.com', details: { to: 'ann@example.com' } },
    })
    expect(JSON.stringify(found)).not.toMatch(/ann|Blue/)
    expect(found).toMatchObject({ display: '[email]', data: { '[email]': ['[codename]', 7] } })
  })

  it('without a match stays the object that it was', async () => {
    const value: ToolCallResult = {
      content: [
        { type: 'text', text: 'one ' },
        { type: 'text', text: 'two' },
      ],
      data: { a: [1] },
    }
    expect(await result(value)).toBe(value)
  })

  it('of a tool that streams has matches replaced across its chunks', async () => {
    const image: Part = { type: 'file', mediaType: 'image/png', data: 'aGk=' }
    const chunks = ['to ann', '@exam', { type: 'text', text: 'ple.com now' } as const, image, ' end']
    const streamed = await handler.wrapStreamableToolCall?.(contextOf(), callOf(), async () => ({
      stream: stream<string | Part>(async (sink) => {
        for (const chunk of chunks) await sink.write(chunk)
      }),
      result: Promise.resolve({ content: 'ann@example.com' }),
    }))
    const seen: (string | Part)[] = []
    for await (const chunk of streamed?.stream ?? []) seen.push(chunk)
    expect(seen.filter((chunk) => typeof chunk === 'string').join('')).toBe('to [email] now end')
    expect(seen).toContain(image)
    expect(await streamed?.result).toEqual({ content: '[email]' })
  })
})

describe('the history from the store', () => {
  async function shown(messages: readonly Message[]) {
    const config = { instruction: '', tools: [], input: { messages }, runOptions: {} }
    await handler.beforeAgent?.(contextOf(), config)
    return config.input.messages
  }

  it('has matches replaced in messages of all kinds, before the model gets it', async () => {
    const made = await shown([
      user('u', 'I am ann@example.com'),
      {
        ...assistant('a', 'Hi ann@example.com', ['c']),
        toolCalls: [{ id: 'c', name: 'look', arguments: '{"q":"ann@example.com"}' }],
      },
      { id: 't', role: 'tool', callId: 'c', name: 'look', content: 'ann@example.com', data: 'ann@example.com' },
    ])
    expect(JSON.stringify(made)).not.toContain('ann@')
    expect(made).toMatchObject([
      { id: 'u', role: 'user' },
      { id: 'a', toolCalls: [{ id: 'c' }] },
      { id: 't', callId: 'c' },
    ])
  })

  it('is read once, however many turns a run has, and a message that another handler puts into it is read too', async () => {
    const read: string[] = []
    const find = (text: string, from: number) => {
      read.push(text)
      const start = text.indexOf('secret', from)
      return start < 0 ? undefined : { start, end: start + 6 }
    }
    const counting = redaction({ rules: [{ name: 'it', match: find }] })
    const config = { instruction: '', tools: [], input: { messages: [user('first')] }, runOptions: {} }
    const ctx = (await counting.beforeAgent?.(contextOf(), config)) ?? contextOf()
    let messages: readonly Message[] = config.input.messages
    for (const text of ['second', 'third', 'a secret']) {
      messages = [...messages, assistant(text)]
      const rewritten = await counting.beforeModelRewriteHistory?.(ctx, messages)
      if (Array.isArray(rewritten)) messages = rewritten
    }
    expect(messages.map(({ content }) => content)).toEqual(['first', 'second', 'third', 'a [it]'])
    expect(read.filter((text) => !text.includes('secret'))).toEqual(['first', 'second', 'third'])
    const changed = [messages[0] as Message, assistant('the secret of another'), ...messages.slice(2)]
    const rewritten = (await counting.beforeModelRewriteHistory?.(ctx, changed)) as readonly Message[]
    expect(rewritten.map(({ content }) => content)).toEqual(['first', 'the [it] of another', 'third', 'a [it]'])
  })

  it('stays the list that it was without a match', async () => {
    const messages = [
      user('u', 'Hi'),
      assistant('a', [
        { type: 'text', text: 'a' },
        { type: 'text', text: 'b' },
      ]),
    ]
    expect(await shown(messages)).toBe(messages)
  })
})

it('shows the same text however the deltas are cut, with parts and attempts between them (10,000 random answers)', async () => {
  const text = 'Blue "bird" wrote to ann@example.com, or bob.x@mail.example.org. '
  const pieces = fc.array(fc.nat(text.length), { maxLength: 20 })
  await fc.assert(
    fc.asyncProperty(pieces, fc.nat(20), async (cuts, restart) => {
      const places = [0, ...cuts.toSorted((a, b) => a - b), text.length]
      const parts: ModelPart[] = places
        .slice(1)
        .map((to, i) => ({ type: 'text-delta', delta: text.slice(places[i], to) }))
      if (restart < parts.length) parts.unshift(...parts.slice(0, restart), { type: 'restart' })
      const out = await through(...parts)
      const last = out.findLastIndex(({ type }) => type === 'restart')
      expect(read(out.slice(last + 1)).text).toBe('[codename] wrote to [email], or [email]. ')
      for (const part of out) if ('delta' in part) expect(part.delta).not.toMatch(/Blue|bird|ann|@|bob/)
    }),
    { numRuns: 10_000 },
  )
}, 60_000)

it.each<[string, unknown]>([
  ['rules must be a list of at least one rule', { rules: [] }],
  ['expected a name', { rules: [{ match: 'a' }] }],
  ['match must be a text, a list of texts, an expression or a function', { rules: [{ name: 'a', match: '' }] }],
  ['match must be a text, a list of texts, an expression or a function', { rules: [{ name: 'a', match: [] }] }],
  ['match must be an expression with the flag g and without y', { rules: [{ name: 'a', match: /a/ }] }],
  ['longest must be a whole number from 1 on', { rules: [{ name: 'a', match: /a/g, longest: 0 }] }],
  ['replace must be a text', { rules: [{ name: 'a', match: /a/g, replace: () => '' }] }],
])('refuses options: %s', (message, options) => {
  expect(() => redaction(options as RedactionOptions)).toThrow(message)
})
