import type { JsonSchema } from '@troupe/kernel'

/** Whether something is a schema with keywords, not `true` or `false`. */
export function isSchema(value: unknown): value is JsonSchema {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Whether nothing fits a schema, as `z.never()` has it. */
export function isNever(schema: unknown): boolean {
  return schema === false || (isSchema(schema) && isSchema(schema.not) && Object.keys(schema.not).length === 0)
}

/** The schema that a local `$ref` points at. */
export function resolve(root: JsonSchema, pointer: string): unknown {
  if (pointer === '#') return root
  if (!pointer.startsWith('#/')) return undefined
  let target: unknown = root
  for (const part of pointer.slice(2).split('/')) {
    const key = decoded(part).replaceAll('~1', '/').replaceAll('~0', '~')
    if (typeof target !== 'object' || target === null || !Object.hasOwn(target, key)) return undefined
    target = (target as Record<string, unknown>)[key]
  }
  return target
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}

/** Every schema in a schema. Contract: with `uses`, a definition comes once for each use of it, so the schema must not refer to itself. */
export function* contained(root: JsonSchema, uses = false, node: JsonSchema = root): Generator<JsonSchema> {
  yield node
  const lists = [node.anyOf, node.prefixItems].flatMap((list) => (Array.isArray(list) ? list : []))
  const maps = [node.properties, uses ? undefined : node.$defs].flatMap((map) => Object.values(Object(map)))
  const target = uses && typeof node.$ref === 'string' ? resolve(root, node.$ref) : undefined
  for (const child of [...lists, ...maps, node.items, node.additionalProperties, target]) {
    if (isSchema(child)) yield* contained(root, uses, child)
  }
}

/** Whether `null` fits a schema. */
export function admitsNull(root: JsonSchema, node: unknown, seen: readonly string[] = []): boolean {
  if (!isSchema(node)) return node === true
  const { type, const: only, enum: values, anyOf, oneOf, allOf, $ref } = node
  if (typeof $ref === 'string') {
    return !seen.includes($ref) && admitsNull(root, resolve(root, $ref), [...seen, $ref])
  }
  if (only !== undefined) return only === null
  if (Array.isArray(values)) return values.includes(null)
  if (type !== undefined) return type === 'null' || (Array.isArray(type) && type.includes('null'))
  const some = anyOf ?? oneOf
  if (Array.isArray(some)) return some.some((one) => admitsNull(root, one, seen))
  if (Array.isArray(allOf)) return allOf.every((one) => admitsNull(root, one, seen))
  return node.properties === undefined && node.items === undefined && !isNever(node)
}
