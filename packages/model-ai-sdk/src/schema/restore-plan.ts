import type { JsonSchema } from '@troupe/kernel'
import { isSchema, resolve } from './walk.ts'

/** The steps from a vendor's value to one of the user's schema; `undefined` if nothing changes. */
export type RestorePlan =
  /** Members of these names are left out where they are `null`. */
  | { readonly kind: 'object'; readonly drops: ReadonlySet<string>; readonly members: ReadonlyMap<string, RestorePlan> }
  | { readonly kind: 'array'; readonly items: RestorePlan }
  /** An object with positions as names becomes a list; it ends at the first missing item. */
  | { readonly kind: 'tuple'; readonly items: readonly TupleItem[]; readonly rest: RestorePlan | undefined }
  /** The first branch that fits decides. */
  | { readonly kind: 'union'; readonly branches: readonly UnionBranch[] }
  /** Looked up when it is needed, because a schema may refer to itself. */
  | { readonly kind: 'reference'; readonly target: { readonly plan: RestorePlan | undefined } }

/** One branch of a union. */
interface UnionBranch {
  fits(value: unknown): boolean
  readonly plan: RestorePlan | undefined
}

interface TupleItem {
  readonly plan: RestorePlan | undefined
  /** Whether `null` means a missing item. */
  readonly drop: boolean
}

/** Follows references to the plan itself. */
export function settled(plan: RestorePlan | undefined): Exclude<RestorePlan, { kind: 'reference' }> | undefined {
  let at = plan
  while (at?.kind === 'reference') at = at.target.plan
  return at
}

/** Gives a value the user's shape. Contract: a value that needs no change stays the same object. */
export function restore(plan: RestorePlan | undefined, value: unknown): unknown {
  const to = settled(plan)
  if (!to || typeof value !== 'object' || value === null) return value
  if (to.kind === 'union') return restore(to.branches.find((branch) => branch.fits(value))?.plan, value)
  if (to.kind === 'array') {
    if (!Array.isArray(value)) return value
    const items = value.map((item) => restore(to.items, item))
    return items.some((item, i) => item !== value[i]) ? items : value
  }
  if (Array.isArray(value)) return value
  if (to.kind === 'tuple') return listOf(to, value as Record<string, unknown>)
  const entries = Object.entries(value)
  const kept = entries
    .filter(([name, member]) => member !== null || !to.drops.has(name))
    .map(([name, member]): [string, unknown] => [name, restore(to.members.get(name), member)])
  const same = kept.length === entries.length && kept.every(([, member], i) => member === entries[i]?.[1])
  return same ? value : Object.fromEntries(kept)
}

function listOf({ items, rest }: Extract<RestorePlan, { kind: 'tuple' }>, value: Record<string, unknown>): unknown[] {
  const list: unknown[] = []
  for (const [i, { plan, drop }] of items.entries()) {
    const item = value[i]
    if (item === undefined || (drop && item === null)) return list
    list.push(restore(plan, item))
  }
  return Array.isArray(value.rest) ? [...list, ...value.rest.map((item) => restore(rest, item))] : list
}

/** Whether a value has the types and names of a schema that was made for a vendor; constraints are not checked. */
export function fits(root: JsonSchema, schema: unknown, value: unknown): boolean {
  if (!isSchema(schema)) return schema !== false
  if (typeof schema.$ref === 'string') return fits(root, resolve(root, schema.$ref), value)
  if (Array.isArray(schema.anyOf)) return schema.anyOf.some((branch) => fits(root, branch, value))
  if (Array.isArray(schema.enum)) return schema.enum.some((one) => one === value)
  if (schema.type === 'array') {
    return Array.isArray(value) && value.every((item) => fits(root, schema.items ?? true, item))
  }
  if (schema.type !== 'object') return isOfType(schema.type, value)
  if (!isSchema(value)) return false
  const { properties, required } = schema
  const names = isSchema(properties) ? properties : {}
  return (
    Object.entries(value).every(([name, member]) => Object.hasOwn(names, name) && fits(root, names[name], member)) &&
    (!Array.isArray(required) || required.every((name) => Object.hasOwn(value, String(name))))
  )
}

function isOfType(type: unknown, value: unknown): boolean {
  if (type === 'null') return value === null
  if (type === 'integer') return Number.isInteger(value)
  return type === undefined || typeof value === type
}
