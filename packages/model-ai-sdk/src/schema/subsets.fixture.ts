/** Checks sent schemas against each vendor's documentation of structured output. Written from the documents, not from our code. */
type Node = Record<string, unknown>
/** A schema in a schema; `depth` counts the objects around it, with itself. */
type Found = { readonly node: Node; readonly path: string; readonly depth: number }
/** Complaints about one schema, without those about the schemas in it. */
type Rule = (node: Node, depth: number) => readonly string[]

const isNode = (value: unknown): value is Node => typeof value === 'object' && value !== null && !Array.isArray(value)
const namesOf = (value: unknown) => (isNode(value) ? Object.keys(value) : [])
const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : [])
const isOf = (type: string, node: Node) => [node.type].flat().includes(type)
const isComplex = (value: unknown) => isNode(value) || Array.isArray(value)
const when = (broken: unknown, text: string): readonly string[] => (broken ? [text] : [])

/** OpenAI, "Structured Outputs", "Supported schemas". */
const OPENAI = {
  keywords: words(
    'type properties required additionalProperties items enum const anyOf $ref $defs definitions title description',
    'pattern format multipleOf maximum exclusiveMaximum minimum exclusiveMinimum minItems maxItems',
  ),
  types: words('string number boolean integer object array null'),
  formats: words('date-time time date duration email hostname ipv4 ipv6 uuid'),
}

const OPENAI_RULES: readonly Rule[] = [
  (node) => notIn(OPENAI.keywords, Object.keys(node)).map((keyword) => `'${keyword}' is not permitted.`),
  (node) => when(node.$ref !== undefined && Object.keys(node).length > 1, '$ref cannot have keywords beside it.'),
  (node) => when(node.type === undefined && !node.anyOf && !node.$ref, "schema must have a 'type' key."),
  (node) => notIn(OPENAI.types, [node.type].flat()).map((type) => `'${type}' is not a type.`),
  (node) => when(isOf('array', node) && !isNode(node.items), 'array schema missing items.'),
  (node) => notIn(OPENAI.formats, [node.format]).map((format) => `'${format}' is not a valid format.`),
  (node) => when(/\(\?<?[=!]/.test(`${node.pattern ?? ''}`), 'look-around is not supported in pattern.'),
  (node) => when(listOf(node.enum).some(isComplex), 'enum value is not permitted.'),
  (node, depth) => (isOf('object', node) ? openAIObject(node, depth) : []),
]

function openAIObject(node: Node, depth: number): readonly string[] {
  const names = namesOf(node.properties)
  const required = new Set(listOf(node.required))
  const missing = names.filter((name) => !required.has(name))
  return [
    ...when(node.additionalProperties !== false, "'additionalProperties' is required to be supplied and to be false."),
    ...missing.map(
      (name) =>
        `'required' is required to be supplied and to be an array including every key in properties. Missing '${name}'.`,
    ),
    ...when(required.size > names.length, "extra required key supplied in 'required'."),
    ...when(depth > 10, 'more than 10 levels of nesting.'),
  ]
}

export function brokenForOpenAI(schema: unknown, strict: boolean): string | undefined {
  if (!isNode(schema) || schema.type !== 'object') {
    const type = isNode(schema) ? schema.type : ''
    return first([], [`schema must be a JSON Schema of 'type: "object"', got 'type: "${type}"'.`])
  }
  if (!strict) return undefined
  if (schema.anyOf) return first([], ["root must not be 'anyOf'"])
  const found = [...schemasIn(schema)]
  const properties = found.flatMap(({ node }) => (isOf('object', node) ? namesOf(node.properties) : []))
  const values = found.flatMap(({ node }) => listOf(node.enum))
  return first(complaints(schema, OPENAI_RULES), [
    ...when(properties.length > 5000, 'more than 5000 properties.'),
    ...when(values.length > 1000, 'more than 1000 enum values.'),
  ])
}

/** OpenAI and Anthropic say so in their errors, also for tools that are not strict. */
export function brokenAsTool(schema: unknown): string | undefined {
  const refused = ['oneOf', 'anyOf', 'allOf', 'enum', 'not'].filter((keyword) => namesOf(schema).includes(keyword))
  return first(
    [],
    [
      ...when(!isNode(schema) || schema.type !== 'object', "input_schema.type: Input should be 'object'"),
      ...when(refused.length > 0, `${refused} is not supported at the top level`),
    ],
  )
}

/** Anthropic, "Structured outputs", "JSON Schema limitations" and "Schema complexity limits". */
const ANTHROPIC = {
  keywords: words(
    'type properties required additionalProperties items enum const anyOf allOf $ref $defs definitions default title description',
    'format pattern minItems',
  ),
  formats: words('date-time time date duration email hostname uri ipv4 ipv6 uuid'),
}

const ANTHROPIC_RULES: readonly Rule[] = [
  (node) => notIn(ANTHROPIC.keywords, Object.keys(node)).map((keyword) => `property '${keyword}' is not supported`),
  ({ $ref }) => when(typeof $ref === 'string' && !$ref.startsWith('#'), 'external $ref is not supported'),
  (node) =>
    when(
      listOf(node.allOf).some((one) => isNode(one) && one.$ref),
      'allOf with $ref is not supported',
    ),
  (node) => when(listOf(node.enum).some(isComplex), 'complex types in enum are not supported'),
  (node) => notIn(ANTHROPIC.formats, [node.format]).map((format) => `format '${format}' is not supported`),
  ({ minItems = 0 }) =>
    when(![0, 1].includes(Number(minItems)), "'minItems' values other than 0 or 1 are not supported"),
  (node) => when(/\(\?<?[=!]|\\[bB1-9]/.test(`${node.pattern ?? ''}`), 'pattern is not supported'),
  (node) =>
    when(
      isOf('object', node) && node.additionalProperties !== false,
      "For 'object' type, 'additionalProperties' must be explicitly set to false",
    ),
]

export function brokenForAnthropic(schema: unknown): string | undefined {
  if (!isNode(schema)) return first([], ['schema must be an object'])
  if (circles(schema, () => true)) return first([], ['Recursive schemas are not supported'])
  const found = [...schemasIn(schema)]
  const optional = found.flatMap(({ node }) =>
    isOf('object', node) ? namesOf(node.properties).filter((name) => !listOf(node.required).includes(name)) : [],
  ).length
  const unions = found.filter(({ node }) => node.anyOf || Array.isArray(node.type)).length
  return first(complaints(schema, ANTHROPIC_RULES), [
    ...when(optional > 24, `Schemas contain too many optional parameters (${optional}), limit: 24`),
    ...when(unions > 16, `Schemas contain too many parameters with union types (${unions}), limit: 16`),
  ])
}

/** Google, `GenerationConfig.responseJsonSchema`. */
const GOOGLE = words(
  '$id $defs $ref $anchor type format title description enum items prefixItems minItems maxItems minimum maximum',
  'anyOf oneOf properties additionalProperties required propertyOrdering',
)

const GOOGLE_RULES: readonly Rule[] = [
  (node) => notIn(GOOGLE, Object.keys(node)).map((keyword) => `Unknown name "${keyword}"`),
  (node) =>
    when(
      node.$ref !== undefined && Object.keys(node).some((keyword) => !keyword.startsWith('$')),
      'only properties that start with $ may be set beside $ref',
    ),
  (node) =>
    when(
      listOf(node.enum).some((value) => typeof value !== 'string' && typeof value !== 'number'),
      'enum is for strings and numbers',
    ),
  (node) =>
    when(
      notIn(new Set(namesOf(node.properties)), listOf(node.required)).length > 0,
      'required property is not defined',
    ),
]

export function brokenForGoogle(schema: unknown): string | undefined {
  if (!isNode(schema)) return first([], ['schema must be an object'])
  return first(
    complaints(schema, GOOGLE_RULES),
    when(
      circles(schema, (required) => required),
      'cyclic references may only be used within non-required properties',
    ),
  )
}

function words(...lines: string[]): Set<string> {
  return new Set(lines.flatMap((line) => line.split(' ')))
}

/** The values that are set and not known. */
function notIn(known: ReadonlySet<string>, values: readonly unknown[]): readonly unknown[] {
  return values.filter((value) => value !== undefined && !known.has(`${value}`))
}

/** The first complaint: about a schema in it, or about the whole. */
function first(inner: readonly string[], whole: readonly string[]): string | undefined {
  return [...inner, ...whole.map((text) => `In context=(), ${text}`)][0]
}

function complaints(root: Node, rules: readonly Rule[]): readonly string[] {
  return [...schemasIn(root)].flatMap(({ node, path, depth }) => {
    const { $ref } = node
    const lost = when(typeof $ref === 'string' && !isNode(targetOf(root, $ref)), `${$ref} can not be resolved`)
    return [...rules.flatMap((rule) => rule(node, depth)), ...lost].map((text) => `In context=${path}, ${text}`)
  })
}

type Child = readonly [name: string, node: unknown, required: boolean]

function childrenOf(node: Node): readonly Child[] {
  const required = listOf(node.required)
  return [
    ...Object.entries(isNode(node.properties) ? node.properties : {}).map(
      ([name, child]): Child => [name, child, required.includes(name)],
    ),
    ...['anyOf', 'oneOf', 'allOf', 'prefixItems'].flatMap((keyword) =>
      listOf(node[keyword]).map((child, i): Child => [`${keyword}.${i}`, child, true]),
    ),
    ...['items', 'additionalProperties', 'not'].map((keyword): Child => [keyword, node[keyword], true]),
  ]
}

function* schemasIn(root: Node): Generator<Found> {
  yield* below(root, '()', 0)
  for (const defs of [root.$defs, root.definitions])
    for (const name of namesOf(defs)) yield* below((defs as Node)[name], `$defs.${name}`, 0)
}

function* below(node: unknown, path: string, above: number): Generator<Found> {
  if (!isNode(node)) return
  const depth = above + (isOf('object', node) ? 1 : 0)
  yield { node, path, depth }
  for (const [name, child] of childrenOf(node)) yield* below(child, `${path}.${name}`, depth)
}

function targetOf(root: Node, pointer: string): unknown {
  const parts = pointer.split('/').slice(1)
  return parts.reduce<unknown>(
    (node, part) => (isNode(node) ? node[part.replaceAll('~1', '/').replaceAll('~0', '~')] : undefined),
    root,
  )
}

/** Whether a path of steps that all `count` leads back to its start. */
function circles(root: Node, count: (required: boolean) => boolean): boolean {
  const go = (node: unknown, above: readonly unknown[]): boolean => {
    if (!isNode(node)) return false
    if (above.includes(node)) return true
    const target = typeof node.$ref === 'string' ? targetOf(root, node.$ref) : undefined
    const steps = childrenOf(node).filter(([, , required]) => count(required))
    return [target, ...steps.map(([, child]) => child)].some((next) => go(next, [...above, node]))
  }
  return [root, ...Object.values(Object(root.$defs)), ...Object.values(Object(root.definitions))].some((node) =>
    go(node, []),
  )
}
