import { expect, test } from 'vitest'
import { failureOf } from './failure.ts'

test.each([
  [new TypeError('Failed to fetch'), { code: 'UNREACHABLE' }],
  ['lost', { code: 'UNREACHABLE' }],
  [new Error('The connection was lost.'), { code: 'FAILED', text: 'The connection was lost.' }],
  [
    new Error('HTTP 409: {"code":"THREAD_BUSY","message":"Another run is active."}'),
    { code: 'THREAD_BUSY', text: 'Another run is active.' },
  ],
  [
    new Error('HTTP 401: {"code":"UNAUTHENTICATED","message":"authentication required"}'),
    { code: 'UNAUTHENTICATED', text: 'authentication required' },
  ],
  [new Error('HTTP 401: <html></html>'), { code: 'UNAUTHENTICATED' }],
  [new Error('HTTP 502: <html>\n</html>'), { code: 'NO_ANSWER' }],
  [new Error('HTTP 500: '), { code: 'NO_ANSWER' }],
])('%s', (error, failure) => {
  expect(failureOf(error)).toEqual(failure)
})
