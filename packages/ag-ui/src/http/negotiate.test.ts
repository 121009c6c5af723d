import { expect, it } from 'vitest'
import { negotiate, PROTOBUF, SSE } from './negotiate.ts'

it.each([
  [null, SSE],
  ['', SSE],
  ['*/*', SSE],
  ['text/event-stream', SSE],
  ['text/*', SSE],
  ['TEXT/EVENT-STREAM', SSE],
  [PROTOBUF, PROTOBUF],
  ['application/*', PROTOBUF],
  [`${PROTOBUF}, text/event-stream`, SSE],
  [`${PROTOBUF}, text/event-stream;q=0.5`, PROTOBUF],
  [`${PROTOBUF};q=0.5, text/event-stream`, SSE],
  [`${PROTOBUF}, */*`, PROTOBUF],
  [`${PROTOBUF}, */*;q=0.1`, PROTOBUF],
  [`${PROTOBUF};q=0, */*`, SSE],
  ['text/event-stream;q=0, */*', PROTOBUF],
  ['text/event-stream; charset=utf-8; q=0.9', SSE],
  ['application/json', undefined],
  ['text/event-stream;q=0', undefined],
  ['*/*;q=0', undefined],
  ['nonsense', undefined],
  ['text/event-stream;q=x', undefined],
  [', ,text/event-stream', SSE],
])('accept %s is %s', (accept, type) => {
  expect(negotiate(accept)).toBe(type)
})
