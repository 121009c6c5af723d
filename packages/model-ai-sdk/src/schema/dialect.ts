import type { Json, JsonObject, JsonSchema } from '@troupe/kernel'
import { contained, isSchema } from './walk.ts'

/** The part of JSON Schema that a vendor documents for structured output. */
export interface Dialect {
  readonly name: 'openai' | 'anthropic' | 'google'
  /** How a property that may be missing is written: required and nullable, or just not required. */
  readonly optional: 'nullable' | 'absent'
  /** Whether objects with unknown names, lists of a fixed order and values of any kind can be written. */
  readonly open: boolean
  /** Whether a schema may refer to itself; `optional`: only from properties that are not required. */
  readonly recursion: 'yes' | 'optional' | 'no'
  /** Whether a constraint is sent; others are written into the description. */
  keeps(keyword: string, value: Json): boolean
  /** Whether `enum` may have values of this type. */
  lists(type: string): boolean
  /** Whether a finished schema is within the vendor's limits. */
  holds(schema: JsonSchema): boolean
  /** Asks the provider to send a schema that is not in the subset. */
  readonly loose: JsonObject | undefined
}

const COMMON_FORMATS = ['date-time', 'time', 'date', 'duration', 'email', 'hostname', 'ipv4', 'ipv6', 'uuid']
const OPENAI_KEYWORDS = new Set([
  ...['multipleOf', 'minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum'],
  ...['minItems', 'maxItems', 'pattern'],
])
const LOOKAROUND = /\(\?<?[=!]/

const openai: Dialect = {
  name: 'openai',
  optional: 'nullable',
  open: false,
  recursion: 'yes',
  keeps: (keyword, value) =>
    keyword === 'format'
      ? COMMON_FORMATS.includes(String(value))
      : OPENAI_KEYWORDS.has(keyword) && !(keyword === 'pattern' && LOOKAROUND.test(String(value))),
  lists: () => true,
  holds(schema) {
    const names: string[] = []
    const values: unknown[] = []
    let properties = 0
    for (const node of contained(schema)) {
      names.push(...Object.keys(Object(node.properties)), ...Object.keys(Object(node.$defs)))
      properties += Object.keys(Object(node.properties)).length
      const list = Array.isArray(node.enum) ? node.enum : []
      if (list.length > 250 && list.join('').length > 15_000) return false
      values.push(...list)
    }
    const characters = names.join('').length + values.join('').length
    return properties <= 5000 && values.length <= 1000 && characters <= 120_000 && objectDepth(schema) <= 10
  },
  loose: { strictJsonSchema: false },
}

const ANTHROPIC_FORMATS = [...COMMON_FORMATS, 'uri']

const anthropic: Dialect = {
  name: 'anthropic',
  optional: 'absent',
  open: false,
  recursion: 'no',
  keeps: (keyword, value) => keyword === 'format' && ANTHROPIC_FORMATS.includes(String(value)),
  lists: () => true,
  holds(schema) {
    let optional = 0
    let unions = 0
    // A definition counts once for each use.
    for (const node of contained(schema, true)) {
      const required = Array.isArray(node.required) ? node.required.length : 0
      optional += Object.keys(Object(node.properties)).length - required
      if (node.anyOf) unions++
    }
    return optional <= 24 && unions <= 16
  },
  loose: { structuredOutputMode: 'jsonTool' },
}

const GOOGLE_KEYWORDS = new Set(['minimum', 'maximum', 'minItems', 'maxItems'])

const google: Dialect = {
  name: 'google',
  optional: 'absent',
  open: true,
  recursion: 'optional',
  keeps: (keyword, value) =>
    keyword === 'format' ? ['date-time', 'date', 'time'].includes(String(value)) : GOOGLE_KEYWORDS.has(keyword),
  lists: (type) => type === 'string' || type === 'number',
  holds: () => true,
  loose: undefined,
}

/** The subsets by name. */
export const DIALECTS: Readonly<Record<Dialect['name'], Dialect>> = { openai, anthropic, google }

/** The subset for a provider name of the AI SDK. OpenAI's is the default: it is the strictest about objects, so compatible servers accept it too. */
export function dialectOf(provider: string): Dialect['name'] {
  if (/anthropic|bedrock/.test(provider)) return 'anthropic'
  return provider.startsWith('google') ? 'google' : 'openai'
}

function objectDepth(node: unknown): number {
  if (Array.isArray(node)) return Math.max(0, ...node.map(objectDepth))
  if (!isSchema(node)) return 0
  const below = Math.max(0, ...Object.values(node).map(objectDepth))
  return below + (node.type === 'object' ? 1 : 0)
}
