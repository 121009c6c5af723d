import { KernelError } from '@troupe/kernel'
import { expect, it } from 'vitest'
import { errorWithoutKeys, withoutKeys } from './without-keys.ts'

it.each([
  ['the key my-own-key is wrong', 'the key [key] is wrong'],
  ['Incorrect API key provided: sk-proj-abc****wxyz.', 'Incorrect API key provided: [key].'],
  ['authorization: Bearer abcdefgh.ijkl', 'authorization: [key]'],
  ['GET https://host/v1?key=AIzaSyA1234567&alt=sse', 'GET https://host/v1?[key]&alt=sse'],
  ['a task about desk-lamps and monkeys', 'a task about desk-lamps and monkeys'],
])('%s becomes %s', (text, expected) => {
  expect(withoutKeys(text, ['my-own-key', ''])).toBe(expected)
})

it('keeps everything else of an error, and an error without keys as it is', () => {
  const details = { status: 401, body: ['sk-1234567890'] }
  const error = new KernelError('MODEL_AUTH_FAILED', 'no: my-own-key', {
    retryable: true,
    details,
    cause: 'my-own-key',
  })
  const cleaned = errorWithoutKeys(error, ['my-own-key'])
  expect(cleaned).toMatchObject({
    code: 'MODEL_AUTH_FAILED',
    message: 'no: [key]',
    retryable: true,
    details: { status: 401, body: ['[key]'] },
  })
  expect((cleaned as Error).cause).toBeUndefined()
  const harmless = new KernelError('TIMEOUT', 'late')
  expect(errorWithoutKeys(harmless, ['my-own-key'])).toBe(harmless)
})

it('takes no longer for texts made to be slow', () => {
  const start = performance.now()
  for (const text of ['sk', 'key=', 'bearer ', 'api_key', '-']) withoutKeys(text.repeat(100_000))
  expect(performance.now() - start).toBeLessThan(1000)
})
