/** Checks sent schemas against each vendor's documentation of structured output. Written from the documents, not from our code. */
type Node = Record<string, unknown>
type Complain = (path: string, text: string) => void

const isNode = (value: unknown): value is Node => typeof value === 'object' && value !== null && !Array.isArray(value)
const namesOf = (value: unknown) => (isNode(value) ? Object.keys(value) : [])
const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : [])

/** OpenAI, "Structured Outputs", "Supported schemas". */
const OPENAI = {
  keywords: words(
    'type properties required additionalProperties items enum const anyOf $ref $defs definitions title description',
    'pattern format multipleOf maximum exclusiveMaximum minimum exclusiveMinimum minItems maxItems',
  ),
  types: words('string number boolean integer object array null'),
  formats: words('date-time time date duration email hostname ipv4 ipv6 uuid'),
}

export function brokenForOpenAI(schema: unknown, strict: boolean): string | undefined {
  return firstOf((complain) => {
    if (!isNode(schema) || schema.type !== 'object') {
      complain(
        '()',
        `schema must be a JSON Schema of 'type: "object"', got 'type: "${isNode(schema) ? schema.type : ''}"'.`,
      )
    }
    if (!strict || !isNode(schema)) return
    if (schema.anyOf) complain('()', "root must not be 'anyOf'")
    let properties = 0
    let values = 0
    walk(
      schema,
      (node, path, depth) => {
        for (const keyword of Object.keys(node))
          if (!OPENAI.keywords.has(keyword)) complain(path, `'${keyword}' is not permitted.`)
        if (node.$ref !== undefined && Object.keys(node).length > 1)
          complain(path, '$ref cannot have keywords beside it.')
        if (node.type === undefined && !node.anyOf && !node.$ref) complain(path, "schema must have a 'type' key.")
        for (const type of [node.type].flat())
          if (type !== undefined && !OPENAI.types.has(`${type}`)) complain(path, `'${type}' is not a type.`)
        if ([node.type].flat().includes('array') && !isNode(node.items)) complain(path, 'array schema missing items.')
        if (node.format !== undefined && !OPENAI.formats.has(`${node.format}`))
          complain(path, `'${node.format}' is not a valid format.`)
        if (/\(\?<?[=!]/.test(`${node.pattern ?? ''}`)) complain(path, 'look-around is not supported in pattern.')
        if (listOf(node.enum).some((value) => isNode(value) || Array.isArray(value)))
          complain(path, 'enum value is not permitted.')
        if ([node.type].flat().includes('object')) {
          if (node.additionalProperties !== false)
            complain(path, "'additionalProperties' is required to be supplied and to be false.")
          const names = namesOf(node.properties)
          const required = new Set(listOf(node.required))
          for (const name of names) {
            if (!required.has(name))
              complain(
                path,
                `'required' is required to be supplied and to be an array including every key in properties. Missing '${name}'.`,
              )
          }
          if (required.size > names.length) complain(path, "extra required key supplied in 'required'.")
          properties += names.length
          if (depth > 10) complain(path, 'more than 10 levels of nesting.')
        }
        values += listOf(node.enum).length
      },
      complain,
    )
    if (properties > 5000) complain('()', 'more than 5000 properties.')
    if (values > 1000) complain('()', 'more than 1000 enum values.')
  })
}

/** OpenAI and Anthropic say so in their errors, also for tools that are not strict. */
export function brokenAsTool(schema: unknown): string | undefined {
  return firstOf((complain) => {
    if (!isNode(schema) || schema.type !== 'object') complain('()', "input_schema.type: Input should be 'object'")
    const refused = ['oneOf', 'anyOf', 'allOf', 'enum', 'not'].filter((keyword) =>
      Object.keys(Object(schema)).includes(keyword),
    )
    if (refused.length > 0) complain('()', `${refused} is not supported at the top level`)
  })
}

/** Anthropic, "Structured outputs", "JSON Schema limitations" and "Schema complexity limits". */
const ANTHROPIC = {
  keywords: words(
    'type properties required additionalProperties items enum const anyOf allOf $ref $defs definitions default title description',
    'format pattern minItems',
  ),
  formats: words('date-time time date duration email hostname uri ipv4 ipv6 uuid'),
}

export function brokenForAnthropic(schema: unknown): string | undefined {
  return firstOf((complain) => {
    if (!isNode(schema)) return complain('()', 'schema must be an object')
    let optional = 0
    let unions = 0
    if (circles(schema, () => true)) return complain('()', 'Recursive schemas are not supported')
    walk(
      schema,
      (node, path) => {
        for (const keyword of Object.keys(node))
          if (!ANTHROPIC.keywords.has(keyword)) complain(path, `property '${keyword}' is not supported`)
        if (typeof node.$ref === 'string' && !node.$ref.startsWith('#'))
          complain(path, 'external $ref is not supported')
        if (listOf(node.allOf).some((one) => isNode(one) && one.$ref))
          complain(path, 'allOf with $ref is not supported')
        if (listOf(node.enum).some((value) => isNode(value) || Array.isArray(value)))
          complain(path, 'complex types in enum are not supported')
        if (node.format !== undefined && !ANTHROPIC.formats.has(`${node.format}`))
          complain(path, `format '${node.format}' is not supported`)
        if (node.minItems !== undefined && ![0, 1].includes(Number(node.minItems)))
          complain(path, "'minItems' values other than 0 or 1 are not supported")
        if (/\(\?<?[=!]|\\[bB1-9]/.test(`${node.pattern ?? ''}`)) complain(path, 'pattern is not supported')
        if ([node.type].flat().includes('object')) {
          if (node.additionalProperties !== false)
            complain(path, "For 'object' type, 'additionalProperties' must be explicitly set to false")
          optional += namesOf(node.properties).filter((name) => !listOf(node.required).includes(name)).length
        }
        if (node.anyOf || Array.isArray(node.type)) unions++
      },
      complain,
    )
    if (optional > 24) complain('()', `Schemas contain too many optional parameters (${optional}), limit: 24`)
    if (unions > 16) complain('()', `Schemas contain too many parameters with union types (${unions}), limit: 16`)
  })
}

/** Google, `GenerationConfig.responseJsonSchema`. */
const GOOGLE = words(
  '$id $defs $ref $anchor type format title description enum items prefixItems minItems maxItems minimum maximum',
  'anyOf oneOf properties additionalProperties required propertyOrdering',
)

export function brokenForGoogle(schema: unknown): string | undefined {
  return firstOf((complain) => {
    if (!isNode(schema)) return complain('()', 'schema must be an object')
    walk(
      schema,
      (node, path) => {
        for (const keyword of Object.keys(node)) if (!GOOGLE.has(keyword)) complain(path, `Unknown name "${keyword}"`)
        if (node.$ref !== undefined && Object.keys(node).some((keyword) => !keyword.startsWith('$')))
          complain(path, 'only properties that start with $ may be set beside $ref')
        if (listOf(node.enum).some((value) => typeof value !== 'string' && typeof value !== 'number'))
          complain(path, 'enum is for strings and numbers')
        if (listOf(node.required).some((name) => !namesOf(node.properties).includes(`${name}`)))
          complain(path, 'required property is not defined')
      },
      complain,
    )
    if (circles(schema, (required) => required))
      complain('()', 'cyclic references may only be used within non-required properties')
  })
}

function words(...lines: string[]): Set<string> {
  return new Set(lines.flatMap((line) => line.split(' ')))
}

function firstOf(check: (complain: Complain) => void): string | undefined {
  const complaints: string[] = []
  check((path, text) => complaints.push(`In context=${path}, ${text}`))
  return complaints[0]
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

function walk(root: Node, visit: (node: Node, path: string, depth: number) => void, complain: Complain): void {
  const go = (node: unknown, path: string, depth: number): void => {
    if (!isNode(node)) return
    const level = depth + ([node.type].flat().includes('object') ? 1 : 0)
    visit(node, path, level)
    if (typeof node.$ref === 'string' && !isNode(targetOf(root, node.$ref)))
      complain(path, `${node.$ref} can not be resolved`)
    for (const [name, child] of childrenOf(node)) go(child, `${path}.${name}`, level)
  }
  go(root, '()', 0)
  for (const defs of [root.$defs, root.definitions])
    for (const name of namesOf(defs)) go((defs as Node)[name], `$defs.${name}`, 0)
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
