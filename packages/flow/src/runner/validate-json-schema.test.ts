import { expect, test } from 'vitest'
import { validateJsonSchema } from './validate-json-schema.ts'

test('a URL is checked in linear time', () => {
  const schema = { type: 'string', format: 'url' } as const
  expect(validateJsonSchema(schema, 'https://example.com')).toEqual([])
  expect(validateJsonSchema(schema, `ftp://192.168.2.04${'8172.30.3.453'.repeat(1_000)}\0`)).toHaveLength(1)
})
