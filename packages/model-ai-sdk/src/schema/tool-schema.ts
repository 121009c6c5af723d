import type { Json, JsonSchema } from '@troupe/kernel'
import { merged } from './merge.ts'
import { isSchema, resolve } from './walk.ts'

const REFUSED = ['anyOf', 'oneOf', 'allOf', 'not', 'enum', 'const'] as const
/** Made once: each tool would cost 3.5 µs in each model call. */
const FLAT = new WeakMap<JsonSchema, JsonSchema>()

/** Whether a schema has no combination of schemas at its root. */
export function isPlainRoot(schema: JsonSchema): boolean {
  return REFUSED.every((keyword) => schema[keyword] === undefined)
}

/**
 * Rewrites the parameters of a tool with a plain object at the root, because vendors refuse a combination of schemas there.
 * Contract: arguments that fit the original also fit the new schema; rules that it cannot express become lines in the description.
 */
export function toolSchema(parameters: JsonSchema): JsonSchema {
  if (isPlainRoot(parameters)) return parameters
  let flat = FLAT.get(parameters)
  if (!flat) {
    flat = flattened(parameters)
    FLAT.set(parameters, flat)
  }
  return flat
}

function flattened(root: JsonSchema): JsonSchema {
  const rest = Object.fromEntries(Object.entries(root).filter(([keyword]) => !REFUSED.some((one) => one === keyword)))
  const parts = Array.isArray(root.allOf) ? root.allOf : []
  const { allOf: _, ...sum } = merged(root, [rest, ...parts]) ?? rest
  const branches = [root.anyOf, root.oneOf].flatMap((list) => (Array.isArray(list) ? [list.map(target(root))] : []))
  const kinds = new Map<string, Json[]>()
  for (const schema of [sum, ...branches.flat()]) {
    for (const [name, kind] of Object.entries(Object(schema.properties) as JsonSchema)) {
      const known = kinds.get(name) ?? []
      if (!known.some((one) => JSON.stringify(one) === JSON.stringify(kind))) kinds.set(name, [...known, kind])
    }
  }
  const always = branches.flatMap((list) =>
    namesIn(list[0]).filter((name) => list.every((one) => namesIn(one).includes(name))),
  )
  const described = REFUSED.filter((keyword) => root[keyword] !== undefined && keyword !== 'allOf')
  const notes = described.map((keyword) => `${keyword}: ${JSON.stringify(root[keyword])}`)
  const { $defs, definitions } = root
  return {
    ...sum,
    type: 'object',
    ...(notes.length > 0 && {
      description: [sum.description, ...notes].filter((line) => line !== undefined).join('\n'),
    }),
    properties: Object.fromEntries(
      [...kinds].map(([name, [one = true, ...more]]) => [name, more.length > 0 ? { anyOf: [one, ...more] } : one]),
    ),
    required: [...new Set([...namesIn(sum), ...always])],
    ...($defs !== undefined && { $defs }),
    ...(definitions !== undefined && { definitions }),
  }
}

function target(root: JsonSchema): (branch: Json) => JsonSchema {
  return (branch) => {
    const schema = isSchema(branch) && typeof branch.$ref === 'string' ? resolve(root, branch.$ref) : branch
    return isSchema(schema) ? schema : {}
  }
}

function namesIn(schema: JsonSchema | undefined): readonly string[] {
  return Array.isArray(schema?.required) ? schema.required.map(String) : []
}
