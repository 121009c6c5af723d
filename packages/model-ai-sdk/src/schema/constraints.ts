import type { JsonSchema } from '@troupe/kernel'
import type { Dialect } from './dialect.ts'

const BY_TYPE: Readonly<Record<string, readonly string[]>> = {
  string: ['format', 'pattern', 'minLength', 'maxLength', 'contentEncoding', 'contentMediaType'],
  number: ['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf'],
  array: ['minItems', 'maxItems', 'uniqueItems', 'contains', 'minContains', 'maxContains'],
  object: ['minProperties', 'maxProperties', 'propertyNames', 'dependentRequired', 'dependentSchemas'],
}
const OF_ANY_TYPE = ['default', 'not', 'if', 'then', 'else']
const STRUCTURE: Readonly<Record<string, readonly string[]>> = {
  array: ['items', 'prefixItems'],
  object: ['properties', 'required', 'additionalProperties', 'patternProperties'],
}

/** The keywords that constrain values of a type. */
export function keywordsOf(type: string): readonly string[] {
  const name = type === 'integer' ? 'number' : type
  return [...(BY_TYPE[name] ?? []), ...(STRUCTURE[name] ?? [])]
}

/** Title, description and constraints of a schema as a vendor takes them. Contract: a constraint that the vendor does not take becomes a line in the description. */
export function described(schema: JsonSchema, dialect: Dialect, type?: string): Record<string, JsonSchema[string]> {
  const kept: Record<string, JsonSchema[string]> = {}
  const notes: string[] = []
  const constraints = type === undefined ? [] : (BY_TYPE[type === 'integer' ? 'number' : type] ?? [])
  for (const keyword of [...constraints, ...OF_ANY_TYPE]) {
    const value = schema[keyword]
    // A pattern only repeats a format that is sent.
    const repeats = keyword === 'pattern' && kept.format !== undefined
    if (value === undefined || repeats || isNoise(keyword, value)) continue
    if (dialect.keeps(keyword, value)) kept[keyword] = value
    else notes.push(note(keyword, value))
  }
  const text = [schema.description, notes.join('; ')].filter((line) => typeof line === 'string' && line !== '')
  return {
    ...(typeof schema.title === 'string' && { title: schema.title }),
    ...(text.length > 0 && { description: text.join('\n') }),
    ...kept,
  }
}

function note(keyword: string, value: JsonSchema[string]): string {
  return `${keyword}: ${typeof value === 'string' ? value : JSON.stringify(value)}`
}

/** Constraints without information: bounds that a schema library adds to every whole number, and names that are just text. */
function isNoise(keyword: string, value: unknown): boolean {
  if (keyword === 'propertyNames') return JSON.stringify(value) === '{"type":"string"}'
  return typeof value === 'number' && Math.abs(value) === Number.MAX_SAFE_INTEGER
}
