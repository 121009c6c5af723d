import type { Json, JsonSchema } from '@troupe/kernel'
import { isSchema, resolve } from './walk.ts'

/**
 * Merges schemas that all have to fit (`allOf`) into one.
 * Contract: undefined if that needs a keyword that vendors do not take.
 */
export function merged(root: JsonSchema, schemas: readonly unknown[]): JsonSchema | undefined {
  const sum: Record<string, Json> = {}
  for (const one of schemas) {
    const schema = isSchema(one) && typeof one.$ref === 'string' ? followed(root, one) : one
    if (schema === true) continue
    if (!isSchema(schema)) return undefined
    for (const [keyword, value] of Object.entries(schema)) {
      if (keyword === '$defs' || keyword === 'definitions') continue
      const both = keyword in sum ? join(keyword, sum[keyword] as Json, value) : value
      if (both === undefined) return undefined
      sum[keyword] = both
    }
  }
  return sum
}

function followed(root: JsonSchema, { $ref, ...beside }: JsonSchema): JsonSchema | undefined {
  const target = resolve(root, String($ref))
  return isSchema(target) && target !== root ? { ...target, ...beside } : undefined
}

function join(keyword: string, one: Json, other: Json): Json | undefined {
  if (JSON.stringify(one) === JSON.stringify(other)) return one
  switch (keyword) {
    case 'title':
    case 'description':
    case 'default':
      return one
    case 'required':
      return Array.isArray(one) && Array.isArray(other) ? [...new Set([...one, ...other])] : undefined
    case 'additionalProperties':
      // Each part is closed to its own names; the merged schema has the names of all.
      return one === false ? other : one
    case 'allOf':
      return Array.isArray(one) && Array.isArray(other) ? [...one, ...other] : undefined
    case 'properties': {
      if (!isSchema(one) || !isSchema(other)) return undefined
      const all: Record<string, Json> = { ...one }
      for (const [name, schema] of Object.entries(other)) {
        all[name] = Object.hasOwn(one, name) ? { allOf: [one[name] as Json, schema] } : schema
      }
      return all
    }
    default:
      return undefined
  }
}
