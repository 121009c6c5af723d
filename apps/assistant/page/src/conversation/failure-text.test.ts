import { expect, test } from 'vitest'
import { failureText } from './failure-text.ts'

test.each([
  [new TypeError('Failed to fetch'), 'The server cannot be reached. Try again when it is back.'],
  ['lost', 'The server cannot be reached. Try again when it is back.'],
  [new Error('The connection was lost.'), 'The connection was lost.'],
  [new Error('HTTP 409: {"code":"THREAD_BUSY","message":"Another run is under way."}'), 'Another run is under way.'],
  [new Error('HTTP 502: <html>\n</html>'), 'The server could not answer.'],
  [new Error('HTTP 500: '), 'The server could not answer.'],
])('%s', (error, text) => {
  expect(failureText(error)).toBe(text)
})
