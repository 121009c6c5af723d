type Check = (value: unknown) => boolean

/**
 * Compiles a schema that has common keywords only; undefined for any other schema.
 * Contract: a value that passes is valid; one that fails must go to a validator, which decides and names the problem.
 */
export function quickCheck(schema: unknown): Check | undefined {
  if (schema === true) return () => true
  if (!isRecord(schema)) return undefined
  const checks: Check[] = []
  for (const [keyword, value] of Object.entries(schema)) {
    if (ANNOTATIONS.has(keyword)) continue
    const check = KEYWORDS.get(keyword)?.(value, schema)
    if (!check) return undefined
    checks.push(check)
  }
  return (value) => checks.every((check) => check(value))
}

/** Keywords that do not affect validity. */
const ANNOTATIONS = new Set(['$schema', '$comment', 'title', 'description', 'default', 'examples', 'deprecated'])

type Compile = (value: unknown, schema: Record<string, unknown>) => Check | undefined

const KEYWORDS: ReadonlyMap<string, Compile> = new Map<string, Compile>([
  ['type', (type) => TYPES.get(type)],
  ['enum', (list) => (Array.isArray(list) && list.every(isPlain) ? (value) => list.includes(value) : undefined)],
  [
    'required',
    (names) =>
      Array.isArray(names)
        ? (value) => !isRecord(value) || names.every((name) => Object.hasOwn(value, name))
        : undefined,
  ],
  ['properties', properties],
  ['additionalProperties', additionalProperties],
  ['items', items],
])

const TYPES: ReadonlyMap<unknown, Check> = new Map<unknown, Check>([
  ['string', (value) => typeof value === 'string'],
  ['number', (value) => typeof value === 'number'],
  ['integer', (value) => Number.isInteger(value)],
  ['boolean', (value) => typeof value === 'boolean'],
  ['null', (value) => value === null],
  ['array', (value) => Array.isArray(value)],
  ['object', isRecord],
])

function properties(schemas: unknown): Check | undefined {
  if (!isRecord(schemas)) return undefined
  const checks: [string, Check][] = []
  for (const [name, schema] of Object.entries(schemas)) {
    const check = quickCheck(schema)
    if (!check) return undefined
    checks.push([name, check])
  }
  return (value) =>
    !isRecord(value) || checks.every(([name, check]) => !Object.hasOwn(value, name) || check(value[name]))
}

function additionalProperties(schema: unknown, { properties = {} }: Record<string, unknown>): Check | undefined {
  if (schema === true) return () => true
  if (schema !== false || !isRecord(properties)) return undefined
  return (value) => !isRecord(value) || Object.keys(value).every((name) => Object.hasOwn(properties, name))
}

function items(schema: unknown): Check | undefined {
  const check = quickCheck(schema)
  return check && ((value) => !Array.isArray(value) || value.every(check))
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function isPlain(value: unknown): boolean {
  return typeof value !== 'object'
}
