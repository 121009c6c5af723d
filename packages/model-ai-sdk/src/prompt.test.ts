import type { LanguageModelV4Prompt } from '@ai-sdk/provider'
import type { Message, ToolMessage } from '@troupe/kernel'
import { describe, expect, it } from 'vitest'
import { user } from './ask.fixture.ts'
import { toPrompt } from './prompt.ts'

function prompt(messages: readonly Message[], late: 'system' | 'user' = 'system'): LanguageModelV4Prompt {
  return toPrompt({ instruction: '', messages }, late)
}

const assistant = (content: Message['content'], more = {}): Message => ({
  id: 'a',
  role: 'assistant',
  content,
  ...more,
})
const result = (callId: string, content: Message['content'], more: Partial<ToolMessage> = {}): Message => ({
  id: `r-${callId}`,
  role: 'tool',
  callId,
  name: 't',
  content,
  ...more,
})
const mark = { anthropic: { cacheControl: { type: 'ephemeral' } } }

describe('words', () => {
  it('the instruction comes first, and an empty one not at all', () => {
    expect(toPrompt({ instruction: 'Be brief.', messages: [user('Hi')] }, 'system')).toEqual([
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: [{ type: 'text', text: 'Hi' }] },
    ])
    expect(prompt([user('Hi')])).toHaveLength(1)
  })

  it('parts keep their order and their provider options', () => {
    expect(
      prompt([
        user([
          { type: 'text', text: 'a', metadata: mark },
          { type: 'reasoning', text: 'hm' },
          { type: 'text', text: 'b' },
        ]),
      ]),
    ).toEqual([
      {
        role: 'user',
        content: [
          { type: 'text', text: 'a', providerOptions: mark },
          { type: 'text', text: 'b' },
        ],
      },
    ])
  })

  it('empty text and empty messages are left out, unless the vendor has marked them', () => {
    const signature = { google: { thoughtSignature: 's' } }
    expect(
      prompt([
        user(''),
        user([]),
        assistant(''),
        assistant([{ type: 'text', text: '' }]),
        assistant([{ type: 'text', text: '', metadata: signature }]),
        { id: 's', role: 'system', content: '' },
      ]),
    ).toEqual([{ role: 'assistant', content: [{ type: 'text', text: '', providerOptions: signature }] }])
  })

  it('reasoning goes back with its signature', () => {
    const metadata = { anthropic: { signature: 's' } }
    expect(
      prompt([
        assistant([
          { type: 'reasoning', text: 'Hm', metadata },
          { type: 'text', text: 'Hi' },
        ]),
      ]),
    ).toEqual([
      {
        role: 'assistant',
        content: [
          { type: 'reasoning', text: 'Hm', providerOptions: metadata },
          { type: 'text', text: 'Hi' },
        ],
      },
    ])
  })
})

describe('system messages', () => {
  const note = (content: Message['content']): Message => ({ id: 's', role: 'system', content })

  it('before the conversation are system messages with every vendor', () => {
    expect(
      prompt([note('A'), note([{ type: 'text', text: 'B', metadata: mark }]), user('Hi')], 'user').slice(0, 2),
    ).toEqual([
      { role: 'system', content: 'A' },
      { role: 'system', content: 'B', providerOptions: mark },
    ])
  })

  it('inside it are system messages', () => {
    expect(prompt([user('Hi'), note('A')]).at(-1)).toEqual({ role: 'system', content: 'A' })
  })

  it('inside it are marked words of the user, where a vendor takes no others', () => {
    expect(prompt([user('Hi'), note('A')], 'user').at(-1)).toEqual({
      role: 'user',
      content: [{ type: 'text', text: '<system>\nA\n</system>' }],
    })
  })
})

describe('files', () => {
  const sent = (file: object) => prompt([user([{ type: 'file', mediaType: 'image/png', ...file }])])[0]?.content[0]

  it('base64 data, a name and provider options are kept', () => {
    expect(sent({ data: 'aGk=', name: 'hi.png', metadata: mark })).toEqual({
      type: 'file',
      mediaType: 'image/png',
      data: { type: 'data', data: 'aGk=' },
      filename: 'hi.png',
      providerOptions: mark,
    })
  })

  it('a link stays a link, with its spelling where parsing changes it', () => {
    expect(sent({ url: 'https://x.test/a.png' })).toMatchObject({
      data: { type: 'url', url: new URL('https://x.test/a.png') },
    })
    expect(sent({ url: 'gs://Bucket/a b' })).toMatchObject({ data: { type: 'url', originalUrl: 'gs://Bucket/a b' } })
  })

  it('a data link becomes data', () => {
    expect(sent({ url: 'data:image/png;charset=x;base64,aGk=' })).toMatchObject({
      data: { type: 'data', data: 'aGk=' },
    })
  })

  it.each([[undefined], ['a.png'], ['']])('neither data nor an absolute link is refused: %s', (url) => {
    expect(() => sent(url === undefined ? {} : { url })).toThrow(
      expect.objectContaining({ code: 'MODEL_REQUEST_INVALID' }),
    )
  })
})

describe('tool calls and results', () => {
  const metadata = { google: { thoughtSignature: 's' } }

  it('a call follows the words, and its metadata goes with call and result', () => {
    const calls = [{ id: 'c', name: 't', arguments: '{"a":1}', metadata }]
    expect(prompt([assistant('Hi', { toolCalls: calls }), result('c', 'ok')])).toEqual([
      {
        role: 'assistant',
        content: [
          { type: 'text', text: 'Hi' },
          { type: 'tool-call', toolCallId: 'c', toolName: 't', input: { a: 1 }, providerOptions: metadata },
        ],
      },
      {
        role: 'tool',
        content: [
          {
            type: 'tool-result',
            toolCallId: 'c',
            toolName: 't',
            output: { type: 'text', value: 'ok' },
            providerOptions: metadata,
          },
        ],
      },
    ])
  })

  it.each([
    ['', {}],
    ['  ', {}],
    ['{"a":', { rawInvalidInput: '{"a":' }],
    ['[1]', { rawInvalidInput: [1] }],
    ['null', { rawInvalidInput: null }],
    ['"x"', { rawInvalidInput: 'x' }],
  ])('arguments that are not an object are still sent as one: %s', (text, input) => {
    const [message] = prompt([assistant('', { toolCalls: [{ id: 'c', name: 't', arguments: text }] })])
    expect(message?.content[0]).toMatchObject({ type: 'tool-call', input })
  })

  it('results of parallel calls are one message, in their order', () => {
    const messages = prompt([result('c', '1'), result('d', '2'), user('Hi'), result('e', '3')])
    expect(messages.map(({ role, content }) => [role, content.length])).toEqual([
      ['tool', 2],
      ['user', 1],
      ['tool', 1],
    ])
  })

  const output = (content: Message['content'], more: Partial<ToolMessage> = {}) => {
    const part = prompt([result('c', content, more)])[0]?.content[0]
    return typeof part === 'object' && part.type === 'tool-result' ? part.output : undefined
  }

  it('an error is an error, in the words for the model', () => {
    const error = { code: 'TOOL_FAILED', message: 'inner' }
    expect(output('No such city.', { error })).toEqual({ type: 'error-text', value: 'No such city.' })
    expect(output('', { error })).toEqual({ type: 'error-text', value: 'inner' })
  })

  it('text in parts is text, because some vendors would see JSON otherwise', () => {
    expect(
      output([
        { type: 'text', text: 'a' },
        { type: 'reasoning', text: 'hm' },
        { type: 'text', text: 'b' },
      ]),
    ).toEqual({
      type: 'text',
      value: 'ab',
    })
  })

  it('media and marked text are content', () => {
    expect(
      output([
        { type: 'text', text: 'a', metadata: mark },
        { type: 'reasoning', text: 'hm' },
        { type: 'file', mediaType: 'image/png', data: 'aGk=' },
      ]),
    ).toEqual({
      type: 'content',
      value: [
        { type: 'text', text: 'a', providerOptions: mark },
        { type: 'file', mediaType: 'image/png', data: { type: 'data', data: 'aGk=' } },
      ],
    })
  })
})
