import { expect, it } from 'vitest'
import { estimateTokens } from './history.ts'
import type { Message } from './index.ts'

const user = (content: Message['content'] & (string | readonly object[])): Message => ({
  id: 'u',
  role: 'user',
  content,
})
const call = (id: string) => ({ id, name: 'act', arguments: '{}' })

it.each<[string, Message, number]>([
  ['an empty message', user(''), 4],
  ['text, rounded up', user('12345'), 6],
  ['an image, however large', user([{ type: 'file', mediaType: 'image/png', data: 'A'.repeat(1e6) }]), 1604],
  ['a text part', user([{ type: 'text', text: '12345678' }]), 6],
  [
    'reasoning with its seal',
    { id: 'a', role: 'assistant', content: [{ type: 'reasoning', text: '1234', encrypted: '5678' }] },
    6,
  ],
  ['calls with their arguments', { id: 'a', role: 'assistant', content: '', toolCalls: [call('c1'), call('c2')] }, 7],
  [
    'a result without what the model does not see',
    { id: 'c!', role: 'tool', callId: 'c', name: 'act', content: '1234', display: '1'.repeat(99), data: [1] },
    5,
  ],
])('counts %s', (_, message, tokens) => {
  expect(estimateTokens(message)).toBe(tokens)
})
