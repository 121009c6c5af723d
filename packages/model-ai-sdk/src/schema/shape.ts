import type { Json, JsonSchema } from '@troupe/kernel'
import { keywordsOf } from './constraints.ts'
import { isSchema } from './walk.ts'

const NULL: JsonSchema = { type: 'null' }

/** The declared members of an object, and what others may be; a record with a list of names has just these. */
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
  // An object that says nothing about other names is closed: nobody means them.
  return { properties: declared ?? {}, rest: additionalProperties ?? !declared }
}

/** The types that a schema names or shows by its keywords. */
export function typesOf({ type, properties, items, prefixItems }: JsonSchema): readonly string[] {
  if (Array.isArray(type)) return type.map(String)
  if (typeof type === 'string') return [type]
  if (properties !== undefined) return ['object']
  return items !== undefined || prefixItems !== undefined ? ['array'] : []
}

/** Whether a schema says more than title, description and constraints. */
export function hasStructure(node: JsonSchema): boolean {
  return ['properties', 'additionalProperties', 'items', 'prefixItems', 'required', 'enum', 'const', 'allOf'].some(
    (keyword) => node[keyword] !== undefined,
  )
}

/** Branches beside members only narrow what these say; the answer is checked against them later. */
export function withoutBranches({ anyOf, oneOf, ...rest }: JsonSchema): JsonSchema {
  const line = `one of: ${JSON.stringify(anyOf ?? oneOf)}`
  return { ...rest, description: rest.description === undefined ? line : `${rest.description}\n${line}` }
}

/** A branch with the type that stands beside the branches. */
export function typed(branch: unknown, type: Json | undefined): unknown {
  return typeof type === 'string' && isSchema(branch) && typesOf(branch).length === 0 && branch.$ref === undefined
    ? { type, ...branch }
    : branch
}

/** What a schema of several types says about one of them. */
export function onlyOf(node: JsonSchema, type: string): JsonSchema {
  const kept = keywordsOf(type).filter((keyword) => node[keyword] !== undefined)
  return { type, ...Object.fromEntries(kept.map((keyword) => [keyword, node[keyword] as Json])) }
}

/** The schema with `null` allowed. */
export function nullable(schema: JsonSchema): JsonSchema {
  return Array.isArray(schema.anyOf) ? { ...schema, anyOf: [...schema.anyOf, NULL] } : { anyOf: [schema, NULL] }
}
