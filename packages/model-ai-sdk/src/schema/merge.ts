import type { Json, JsonSchema } from '@troupe/kernel'
import { isSchema, resolve } from './walk.ts'

/**
 * Merges schemas that all have to fit (`allOf`) into one.
 * Contract: undefined if that needs a keyword that vendors do not take.
 */
export function merged(root: JsonSchema, schemas: readonly unknown[]): JsonSchema | undefined {
  const sum: Record<string, Json> = {}
  for (const one of schemas) {
    const schema = followed(root, one)
    if (schema === true) continue
    if (!isSchema(schema) || !add(sum, schema)) return undefined
  }
  return sum
}

/** The schema itself, or the one that it refers to, with what is beside the reference. */
function followed(root: JsonSchema, schema: unknown): unknown {
  if (!isSchema(schema) || typeof schema.$ref !== 'string') return schema
  const { $ref, ...beside } = schema
  const target = resolve(root, String($ref))
  return isSchema(target) && target !== root ? { ...target, ...beside } : undefined
}

/** Adds the keywords of a schema. Contract: false if one of them cannot be joined. */
function add(sum: Record<string, Json>, schema: JsonSchema): boolean {
  for (const [keyword, value] of Object.entries(schema)) {
    if (keyword === '$defs' || keyword === 'definitions') continue
    const both = keyword in sum ? join(keyword, sum[keyword] as Json, value) : value
    if (both === undefined) return false
    sum[keyword] = both
  }
  return true
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
    case 'properties':
      return isSchema(one) && isSchema(other) ? joinProperties(one, other) : undefined
    default:
      return undefined
  }
}

/** Contract: a member that both have must fit both. */
function joinProperties(one: JsonSchema, other: JsonSchema): JsonSchema {
  const all: Record<string, Json> = { ...one }
  for (const [name, schema] of Object.entries(other)) {
    all[name] = Object.hasOwn(one, name) ? { allOf: [one[name] as Json, schema] } : schema
  }
  return all
}
