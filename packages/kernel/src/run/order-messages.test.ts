import { expect, test } from 'vitest'
import type { Message } from '../data/message.ts'
import { reorder } from './order-messages.ts'

test('messages get the order of their ids, and the others stay in their places', () => {
  const messages = ['a', 'b', 'c', 'd'].map((id): Message => ({ id, role: 'user', content: id }))
  reorder(messages, ['d', 'unknown', 'b', 'd'])
  expect(messages.map(({ id }) => id)).toEqual(['a', 'd', 'c', 'b'])
})
