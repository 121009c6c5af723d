import type { JsonObject } from '@troupe/kernel'
import fc from 'fast-check'

/** A request with every field. */
export const GOOD: JsonObject = {
  threadId: 't1',
  runId: 'r1',
  protocolVersion: '1.0',
  messages: [
    { id: 's1', role: 'system', content: 'Be brief.' },
    {
      id: 'u1',
      role: 'user',
      content: [
        { type: 'text', text: 'Hi' },
        { type: 'image', source: { type: 'data', value: 'aGk=', mimeType: 'image/png' } },
      ],
    },
    {
      id: 'a1',
      role: 'assistant',
      content: 'x',
      toolCalls: [{ id: 'c1', type: 'function', function: { name: 'f', arguments: '{}' } }],
    },
    { id: 't1', role: 'tool', content: 'done', toolCallId: 'c1' },
    { id: 'u2', role: 'user', content: [{ type: 'binary', mimeType: 'image/png', data: 'aGk=' }] },
  ],
  state: { list: [1, { a: 'b' }], name: 'x' },
  tools: [
    {
      name: 'pick',
      description: 'd',
      parameters: { type: 'object', properties: { a: { type: 'string', pattern: '^a' } }, required: ['a'] },
    },
  ],
  context: [{ description: 'd', value: 'v' }],
  forwardedProps: { a: { b: [1] } },
  resume: [{ interruptId: 'i1', status: 'resolved', payload: { ok: true } }],
}

/** Every path in a value. */
function placesIn(value: unknown, path: readonly string[] = []): string[][] {
  if (typeof value !== 'object' || value === null) return [[...path]]
  return [[...path], ...Object.entries(value).flatMap(([key, inner]) => placesIn(inner, [...path, key]))]
}

function placed(value: unknown, [key, ...rest]: readonly string[], wrong: unknown): unknown {
  if (key === undefined) return wrong
  const copy = (Array.isArray(value) ? [...value] : { ...(value as object) }) as Record<string, unknown>
  Object.defineProperty(copy, key, {
    value: placed(copy[key], rest, wrong),
    enumerable: true,
    writable: true,
    configurable: true,
  })
  return copy
}

/** A value nested this deep. */
export function nested(depth: number): unknown {
  let value: unknown = 1
  for (let i = 0; i < depth; i++) value = i % 2 ? [value] : { a: value }
  return value
}

const odd: fc.Arbitrary<unknown> = fc.oneof(
  fc.jsonValue({ maxDepth: 2 }),
  fc.constantFrom<unknown>(
    undefined,
    null,
    '',
    '\u0000',
    '\ud800',
    Number.NaN,
    -0,
    1e308,
    true,
    [],
    {},
    [null],
    () => 1,
    10n,
    Symbol('s'),
    new Map(),
  ),
  fc.constantFrom('x'.repeat(300_000), '🙂'.repeat(70_000), ['x'.repeat(2_000)]),
  fc
    .constantFrom('__proto__', 'constructor', 'prototype')
    .map((key) => JSON.parse(`{"${key}":{"polluted":1}}`) as unknown),
  fc.integer({ min: 1, max: 6_000 }).map(nested),
)
const place: fc.Arbitrary<string[]> = fc.oneof(
  fc.constantFrom(...placesIn(GOOD).slice(1)),
  fc
    .constantFrom(...placesIn(GOOD).slice(1))
    .chain((path) =>
      fc.constantFrom('__proto__', 'type', 'id', '9', '\ud800').map((key) => [...path.slice(0, -1), key]),
    ),
)

/** A valid request with one invalid field, and the path of that field. */
export const BAD_INPUTS: fc.Arbitrary<{ readonly value: unknown; readonly field: string }> = fc
  .tuple(place, odd)
  .map(([path, wrong]) => ({
    value: placed(GOOD, path, wrong),
    field: path.length > 1 || path[0] !== '9' ? (path[0] ?? '') : '',
  }))
