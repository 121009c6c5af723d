import type { Message } from '@troupe/kernel'
import { expect, it } from 'vitest'
import { assistant, result, user } from '../handlers.fixture.ts'
import { estimateTokens } from './estimate-tokens.ts'

it.each<[string, Message, number]>([
  ['an empty message', user('u', ''), 4],
  ['text, rounded up', user('u', '12345'), 6],
  ['an image, however large', user('u', [{ type: 'file', mediaType: 'image/png', data: 'A'.repeat(1e6) }]), 1604],
  ['a text part', user('u', [{ type: 'text', text: '12345678' }]), 6],
  ['reasoning with its seal', assistant('a', [{ type: 'reasoning', text: '1234', encrypted: '5678' }]), 6],
  ['calls with their arguments', assistant('a', '', ['c1', 'c2']), 7],
  ['a result without what the model does not see', result('c', '1234', { display: '1'.repeat(99), data: [1] }), 5],
])('counts %s', (_, message, tokens) => {
  expect(estimateTokens(message)).toBe(tokens)
})
