type Node = Record<string, unknown>

const isNode = (value: unknown): value is Node => typeof value === 'object' && value !== null && !Array.isArray(value)

/** Writes a value as a model does that is constrained to a schema: every required property is there, `null` if it has no value. Contract: undefined if the schema cannot express the value. */
export function constrainedValue(
  root: Node,
  value: unknown,
  node: unknown = root,
): { readonly value: unknown } | undefined {
  if (!isNode(node)) return node === false ? undefined : { value }
  if (typeof node.$ref === 'string') return constrainedValue(root, value, targetOf(root, node.$ref))
  const branches = node.anyOf ?? node.oneOf
  if (Array.isArray(branches)) {
    for (const branch of branches) {
      const written = constrainedValue(root, value, branch)
      if (written) return written
    }
    return undefined
  }
  if (Array.isArray(node.enum)) return node.enum.includes(value) ? { value } : undefined
  if (node.const !== undefined) return node.const === value ? { value } : undefined
  if (Array.isArray(node.type))
    return constrainedValue(root, value, { anyOf: node.type.map((type) => ({ ...node, type })) })
  if (node.type === 'object') return object(root, value, node)
  if (node.type === 'array') {
    if (!Array.isArray(value)) return undefined
    const first = Array.isArray(node.prefixItems) ? node.prefixItems : []
    const items = value.map((item, i) => constrainedValue(root, item, first[i] ?? node.items ?? true))
    return items.every((item) => item) ? { value: items.map((item) => item?.value) } : undefined
  }
  if (node.type === 'null') return value === null ? { value } : undefined
  if (node.type === 'integer') return Number.isInteger(value) ? { value } : undefined
  return node.type === undefined || typeof value === node.type ? { value } : undefined
}

/** A list of a fixed order is asked for as an object. */
function byPosition(list: readonly unknown[], { properties }: Node): Node {
  const names = Object.keys(Object(properties)).filter((name) => name !== 'rest')
  const rest = Object.hasOwn(Object(properties), 'rest') ? { rest: list.slice(names.length) } : {}
  return { ...Object.fromEntries(list.slice(0, names.length).map((item, i) => [i, item])), ...rest }
}

function object(root: Node, value: unknown, node: Node): { readonly value: unknown } | undefined {
  if (Array.isArray(value) && Object.hasOwn(Object(node.properties), '0'))
    return object(root, byPosition(value, node), node)
  if (!isNode(value)) return undefined
  const { properties = {}, required = [], additionalProperties } = node
  const written: [string, unknown][] = []
  for (const [name, schema] of Object.entries(properties as Node)) {
    const there = Object.hasOwn(value, name)
    if (!there && !(required as string[]).includes(name)) continue
    const member = constrainedValue(root, there ? value[name] : null, schema)
    if (!member) return undefined
    written.push([name, member.value])
  }
  for (const [name, member] of Object.entries(value)) {
    if (Object.hasOwn(properties as Node, name)) continue
    if (additionalProperties === false) return undefined
    written.push([name, member])
  }
  return { value: Object.fromEntries(written) }
}

function targetOf(root: Node, pointer: string): unknown {
  const parts = pointer.split('/').slice(1)
  return parts.reduce<unknown>((node, part) => (isNode(node) ? node[part] : undefined), root)
}
