type Node = Record<string, unknown>

const isNode = (value: unknown): value is Node => typeof value === 'object' && value !== null && !Array.isArray(value)

type Written = { readonly value: unknown } | undefined

/** Writes a value as a model does that is constrained to a schema: every required property is there, `null` if it has no value. Contract: undefined if the schema cannot express the value. */
export function constrainedValue(root: Node, value: unknown, node: unknown = root): Written {
  if (!isNode(node)) return node === false ? undefined : { value }
  if (typeof node.$ref === 'string') return constrainedValue(root, value, targetOf(root, node.$ref))
  const branches = node.anyOf ?? node.oneOf
  if (Array.isArray(branches)) return firstWritten(root, value, branches)
  const values = valuesOf(node)
  if (values) return values.includes(value) ? { value } : undefined
  if (Array.isArray(node.type)) {
    const byType = node.type.map((type) => ({ ...node, type }))
    return firstWritten(root, value, byType)
  }
  if (node.type === 'object') return object(root, value, node)
  if (node.type === 'array') return list(root, value, node)
  return isOfType(node.type, value) ? { value } : undefined
}

function valuesOf({ enum: list, const: only }: Node): readonly unknown[] | undefined {
  if (Array.isArray(list)) return list
  return only === undefined ? undefined : [only]
}

function firstWritten(root: Node, value: unknown, branches: readonly unknown[]): Written {
  for (const branch of branches) {
    const written = constrainedValue(root, value, branch)
    if (written) return written
  }
  return undefined
}

function list(root: Node, value: unknown, node: Node): Written {
  if (!Array.isArray(value)) return undefined
  const first = Array.isArray(node.prefixItems) ? node.prefixItems : []
  const items = value.map((item, i) => constrainedValue(root, item, first[i] ?? node.items ?? true))
  return items.every((item) => item) ? { value: items.map((item) => item?.value) } : undefined
}

function isOfType(type: unknown, value: unknown): boolean {
  if (type === 'null') return value === null
  if (type === 'integer') return Number.isInteger(value)
  return type === undefined || typeof value === type
}

/** A list of a fixed order is asked for as an object. */
function byPosition(list: readonly unknown[], { properties }: Node): Node {
  const names = Object.keys(Object(properties)).filter((name) => name !== 'rest')
  const rest = Object.hasOwn(Object(properties), 'rest') ? { rest: list.slice(names.length) } : {}
  return { ...Object.fromEntries(list.slice(0, names.length).map((item, i) => [i, item])), ...rest }
}

function object(root: Node, value: unknown, node: Node): Written {
  if (Array.isArray(value) && Object.hasOwn(Object(node.properties), '0'))
    return object(root, byPosition(value, node), node)
  if (!isNode(value)) return undefined
  const { properties = {}, required = [], additionalProperties } = node
  const others = Object.entries(value).filter(([name]) => !Object.hasOwn(properties as Node, name))
  if (additionalProperties === false && others.length > 0) return undefined
  const written: [string, unknown][] = []
  for (const [name, schema] of Object.entries(properties as Node)) {
    const there = Object.hasOwn(value, name)
    if (!there && !(required as string[]).includes(name)) continue
    const member = constrainedValue(root, there ? value[name] : null, schema)
    if (!member) return undefined
    written.push([name, member.value])
  }
  return { value: Object.fromEntries([...written, ...others]) }
}

function targetOf(root: Node, pointer: string): unknown {
  const parts = pointer.split('/').slice(1)
  return parts.reduce<unknown>((node, part) => (isNode(node) ? node[part] : undefined), root)
}
