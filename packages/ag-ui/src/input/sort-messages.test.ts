import type { Message } from '@ag-ui/core'
import { describe, expect, test } from 'vitest'
import { toAgUiMessages } from '../translate/to-ag-ui-messages.ts'
import { Room } from './kernel-content.ts'
import { sortMessages } from './sort-messages.ts'

const open = ['c1', 'c2'].map((callId) => ({ callId, name: 'pick', agentName: 'desk' }))
const user: Message = { id: 'u1', role: 'user', content: 'hi' }
const result = (toolCallId: string, content = 'red', id = `r-${toolCallId}`): Message => ({
  id,
  role: 'tool',
  toolCallId,
  content,
})
const sort = (messages: Message[], done: string[] = [], mode: 'text' | 'json' = 'text') =>
  sortMessages({ messages }, open, { done: new Set(done), stored: new Set() }, mode, new Room(100))

describe('工具结果: which results count', () => {
  test('those of open calls, with the name and the agent of the call', () => {
    expect(sort([result('c1')]).results).toEqual([
      { id: 'r-c1', role: 'tool', callId: 'c1', name: 'pick', agentName: 'desk', content: 'red' },
    ])
  })

  test('a second result of a call is ignored and marked as processed', () => {
    const sorted = sort([result('c1', 'red'), result('c1', 'blue', 'other')])
    expect(sorted.results.map(({ content }) => content)).toEqual(['red'])
    expect(sorted.processed).toEqual(['r-c1', 'other'])
  })

  test('late and unknown ones do not count and are distinguished later', () => {
    expect(sort([result('old'), user])).toMatchObject({ results: [], notOpen: ['old'], processed: ['r-old', 'u1'] })
  })

  test('processed messages are ignored', () => {
    expect(sort([result('c1'), user], ['r-c1', 'u1'])).toEqual({ results: [], users: [], processed: [], notOpen: [] })
  })

  test('a failed result has its error, for the model too', () => {
    const failed: Message = { id: 'r', role: 'tool', toolCallId: 'c1', content: '', error: 'no camera' }
    expect(sort([failed]).results[0]).toMatchObject({
      content: 'no camera',
      error: { code: 'CLIENT_TOOL_FAILED', message: 'no camera' },
    })
  })

  test('media is passed on', () => {
    const content = [{ type: 'image', source: { type: 'data', value: 'aGk=', mimeType: 'image/png' } }] as const
    const shot: Message = { id: 'r', role: 'tool', toolCallId: 'c1', content: [...content] }
    expect(sort([shot]).results[0]?.content).toEqual([{ type: 'file', mediaType: 'image/png', data: 'aGk=' }])
  })
})

describe('工具结果处理: text that is not JSON', () => {
  test('is kept as text', () => {
    expect(sort([result('c1', '{"a":')]).results[0]).toMatchObject({ content: '{"a":' })
    expect(sort([result('c1', '{"a":1}')]).results[0]).not.toHaveProperty('data')
  })

  test('is JSON_DECODE_ERROR in the mode json', () => {
    const [bad] = sort([result('c1', '{"a":')], [], 'json').results
    expect(JSON.parse(String(bad?.content))).toEqual({
      error: expect.stringMatching(/^Invalid JSON: /),
      error_type: 'JSON_DECODE_ERROR',
    })
    expect(sort([result('c1', '{"a":1}')], [], 'json').results[0]).toMatchObject({ content: '{"a":1}', data: { a: 1 } })
  })
})

describe('a history comes back as it was given', () => {
  test('with the names of files, and what the client noted at messages and parts', () => {
    const source = { type: 'data', value: 'aGk=', mimeType: 'image/png' } as const
    const given: Message[] = [
      { id: 'u1', role: 'user', content: 'plain' },
      { id: 'u2', role: 'user', content: 'noted', metadata: { from: 'voice' } },
      { id: 'u4', role: 'user', content: 'named', name: 'Ann' },
      {
        id: 'u3',
        role: 'user',
        content: [
          { type: 'text', text: 'See', metadata: { lang: 'en' } },
          { type: 'image', source, metadata: { filename: 'a.png', width: 20 } },
        ],
        metadata: { draft: 2 },
      },
    ]
    expect(toAgUiMessages(sort(given).users)).toEqual(given)
  })

  test.each(['text', 'json'] as const)('with what the client noted at a result, in the mode %s', (mode) => {
    const given: Message = { id: 'r', role: 'tool', toolCallId: 'c1', content: '1', metadata: { took: 20 } }
    expect(toAgUiMessages(sort([given], [], mode).results)).toMatchObject([given])
  })

  test('with the error of a tool of the client', () => {
    const failed: Message = { id: 'r', role: 'tool', toolCallId: 'c1', content: 'no light', error: 'no camera' }
    expect(toAgUiMessages(sort([failed]).results)).toEqual([
      { ...failed, metadata: { error: { code: 'CLIENT_TOOL_FAILED' } } },
    ])
  })
})
