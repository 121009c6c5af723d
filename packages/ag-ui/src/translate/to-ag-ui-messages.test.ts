import type { Message } from '@troupe/kernel'
import { expect, test } from 'vitest'
import { clientOf } from '../pipeline.fixture.ts'
import { message as end, result, wire } from './events.fixture.ts'
import { toAgUiMessages } from './to-ag-ui-messages.ts'

const image = { type: 'file', mediaType: 'image/png', data: 'AA==', name: 'a.png' } as const
const history: Message[] = [
  { id: 's', role: 'system', content: 'Be kind.' },
  { id: 'u', role: 'user', content: [{ type: 'text', text: 'See' }, image] },
  {
    id: 'm1',
    role: 'assistant',
    agentName: 'root',
    content: [
      { type: 'reasoning', text: 'Hm', encrypted: 'e1' },
      { type: 'reasoning', text: '…' },
      { type: 'text', text: 'One moment.' },
      { type: 'reasoning', text: 'So', encrypted: 'e2' },
      { type: 'text', text: ' Done.' },
    ],
    toolCalls: [{ id: 'c1', name: 'search', arguments: '{}' }],
  },
  { id: 'c1-result', role: 'tool', callId: 'c1', name: 'search', content: 'found' },
  { id: 'm2', role: 'assistant', agentName: 'root', content: '' },
]

test('a stored history is shown as clients keep it', () => {
  expect(toAgUiMessages(history)).toEqual([
    { id: 's', role: 'system', content: 'Be kind.' },
    {
      id: 'u',
      role: 'user',
      content: [
        { type: 'text', text: 'See' },
        {
          type: 'image',
          source: { type: 'data', value: 'AA==', mimeType: 'image/png' },
          metadata: { filename: 'a.png' },
        },
      ],
    },
    { id: 'm1:reasoning', role: 'reasoning', content: 'Hm…', encryptedValue: 'e1' },
    {
      id: 'm1',
      role: 'assistant',
      name: 'root',
      content: 'One moment. Done.',
      toolCalls: [{ id: 'c1', type: 'function', function: { name: 'search', arguments: '{}' } }],
    },
    { id: 'm1:reasoning:2', role: 'reasoning', content: 'So', encryptedValue: 'e2' },
    { id: 'c1-result', role: 'tool', toolCallId: 'c1', content: 'found' },
  ])
})

test('the same as a client has after the stream', async () => {
  const [, user, said] = history as [Message, Message, Extract<Message, { role: 'assistant' }>]
  const past = toAgUiMessages([user])
  const live = wire([end('m1', said.content, said.toolCalls), result('c1', 'found')], {}, { history: past })
  const { messages } = await clientOf(live, past)
  const byId = (list: readonly { id: string }[]) => [...list].sort((a, b) => (a.id < b.id ? -1 : 1))
  expect(byId(messages)).toEqual(byId(toAgUiMessages(history.slice(1))))
})

test('media of every kind, by data and by URL', () => {
  const kinds = ['audio/mp3', 'video/mp4', 'application/pdf'].map((mediaType) => ({
    type: 'file' as const,
    mediaType,
    url: 'https://example.org/x',
  }))
  const [shown] = toAgUiMessages([{ id: 'u', role: 'user', content: kinds }])
  const parts = (shown?.content ?? []) as { type: string }[]
  expect(parts.map(({ type }) => type)).toEqual(['audio', 'video', 'document'])
})
