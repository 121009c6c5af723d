import type { Json, JsonSchema } from '@troupe/kernel'
import { keywordsOf } from './constraints.ts'
import { isSchema } from './walk.ts'

const NULL: JsonSchema = { type: 'null' }

/** The declared members of an object, and the schema of others; a record with a list of names has only these. */
export function membersOf(node: JsonSchema): { readonly properties: JsonSchema; readonly rest: Json } {
  const { properties, propertyNames, additionalProperties, patternProperties } = node
  const declared = isSchema(properties) ? properties : undefined
  const names = isSchema(propertyNames) && Array.isArray(propertyNames.enum) ? propertyNames.enum : undefined
  if (names && !declared && additionalProperties) {
    return { properties: Object.fromEntries(names.map((name) => [String(name), additionalProperties])), rest: false }
  }
  if (isSchema(patternProperties) && Object.keys(patternProperties).length > 0) {
    return { properties: declared ?? {}, rest: true }
  }
  // An object that does not mention other names is closed: its author does not expect them.
  return { properties: declared ?? {}, rest: additionalProperties ?? !declared }
}

/** The types that a schema names or implies by its keywords. */
export function typesOf({ type, properties, items, prefixItems }: JsonSchema): readonly string[] {
  if (Array.isArray(type)) return type.map(String)
  if (typeof type === 'string') return [type]
  if (properties !== undefined) return ['object']
  return items !== undefined || prefixItems !== undefined ? ['array'] : []
}

/** Whether a schema has more than title, description and constraints. */
export function hasStructure(node: JsonSchema): boolean {
  return ['properties', 'additionalProperties', 'items', 'prefixItems', 'required', 'enum', 'const', 'allOf'].some(
    (keyword) => node[keyword] !== undefined,
  )
}

/** Moves branches beside members into the description: they only narrow the members, and the answer is checked against them later. */
export function withoutBranches({ anyOf, oneOf, ...rest }: JsonSchema): JsonSchema {
  const line = `one of: ${JSON.stringify(anyOf ?? oneOf)}`
  return { ...rest, description: rest.description === undefined ? line : `${rest.description}\n${line}` }
}

/** Adds the type beside the branches to a branch. */
export function typed(branch: unknown, type: Json | undefined): unknown {
  return typeof type === 'string' && isSchema(branch) && typesOf(branch).length === 0 && branch.$ref === undefined
    ? { type, ...branch }
    : branch
}

/** The schema for one of several types. */
export function onlyOf(node: JsonSchema, type: string): JsonSchema {
  const kept = keywordsOf(type).filter((keyword) => node[keyword] !== undefined)
  return { type, ...Object.fromEntries(kept.map((keyword) => [keyword, node[keyword] as Json])) }
}

/** The schema with `null` allowed. */
export function nullable(schema: JsonSchema): JsonSchema {
  return Array.isArray(schema.anyOf) ? { ...schema, anyOf: [...schema.anyOf, NULL] } : { anyOf: [schema, NULL] }
}
