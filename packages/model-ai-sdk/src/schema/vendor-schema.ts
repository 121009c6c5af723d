import type { Json, JsonSchema } from '@troupe/kernel'
import { described } from './constraints.ts'
import type { Dialect } from './dialect.ts'
import { merged } from './merge.ts'
import { fits, type RestorePlan } from './restore-plan.ts'
import { hasStructure, membersOf, nullable, onlyOf, typed, typesOf, withoutBranches } from './shape.ts'
import { admitsNull, isNever, isSchema, resolve } from './walk.ts'

/** A schema in a vendor's subset, and the way back. */
interface VendorSchema {
  readonly schema: JsonSchema
  readonly plan: RestorePlan | undefined
}

interface Made extends VendorSchema {
  /** Whether it refers to a schema that it is inside of. */
  readonly cyclic?: boolean
}

interface Definition {
  readonly name: string
  /** How many objects and lists it is inside of. */
  readonly level: number
  made?: Made
  used: boolean
  plan: RestorePlan | undefined
}

/** A schema this deep is endless, although no reference shows it. */
const DEEPEST = 100

/** Writes a schema in the subset of a vendor. Contract: undefined if the subset cannot express it. */
export function vendorSchema(schema: JsonSchema, dialect: Dialect): VendorSchema | undefined {
  try {
    return new SubsetWriter(schema, dialect).write()
  } catch (error) {
    if (error instanceof Inexpressible) return undefined
    throw error
  }
}

/** Thrown and caught in this file only. */
class Inexpressible extends Error {}

class SubsetWriter {
  readonly #root: JsonSchema
  readonly #dialect: Dialect
  readonly #definitions = new Map<string, Definition>()
  /** The finished schema, in which the branches of a union look up their references. */
  #finished: JsonSchema = {}
  #depth = 0
  #level = 0

  constructor(root: JsonSchema, dialect: Dialect) {
    this.#root = root
    this.#dialect = dialect
  }

  write(): VendorSchema {
    const { schema, plan } = this.#define('#')
    const target = [...this.#definitions.values()].find(({ name }) => schema.$ref === `#/$defs/${name}`)
    const used = [...this.#definitions.values()].filter((one) => one.used && one.made)
    const $defs = Object.fromEntries(used.map(({ name, made }) => [name, made?.schema as JsonSchema]))
    this.#finished = { ...(target?.made?.schema ?? schema), ...(used.length > 0 && { $defs }) }
    if (!this.#dialect.holds(this.#finished)) throw new Inexpressible()
    return { schema: this.#finished, plan }
  }

  /** Contract: a definition without `made` is still being written, so a caller that asks for it is inside it. */
  #define(pointer: string): Made {
    const name = pointer === '#' ? 'root' : `${pointer.split('/').at(-1)}`.replaceAll(/[^\w-]/g, '_')
    const taken = [...this.#definitions.values()].some((one) => one.name === name)
    const definition: Definition = {
      name: taken ? `${name}_${this.#definitions.size}` : name,
      level: this.#level,
      used: false,
      plan: undefined,
    }
    this.#definitions.set(pointer, definition)
    const made = this.#write(resolve(this.#root, pointer))
    definition.made = made
    definition.plan = made.plan
    return made
  }

  #write(node: unknown): Made {
    if (++this.#depth > DEEPEST) throw new Inexpressible()
    try {
      return this.#written(node)
    } finally {
      this.#depth--
    }
  }

  /** Writes what an object or a list contains. */
  #inside(node: unknown): Made {
    this.#level++
    const made = this.#write(node)
    this.#level--
    return made
  }

  #written(node: unknown): Made {
    if (!isSchema(node)) return this.#anything(node)
    if (typeof node.$ref === 'string') return this.#reference(node, node.$ref)
    if (Array.isArray(node.allOf)) return this.#write(this.#merge(node, node.allOf))
    if (node.const !== undefined || Array.isArray(node.enum)) return this.#values(node)
    const branches = node.anyOf ?? node.oneOf
    const types = typesOf(node)
    if (Array.isArray(branches)) {
      if (!hasStructure(node))
        return this.#union(
          node,
          branches.map((one) => typed(one, node.type)),
        )
      return this.#write(withoutBranches(node))
    }
    if (types.length === 0) return this.#anything(node)
    if (types.length > 1)
      return this.#union(
        node,
        types.map((type) => onlyOf(node, type)),
      )
    const [type = ''] = types
    if (type === 'object') return this.#object(node)
    if (type === 'array') return this.#array(node)
    return { schema: { type, ...described(node, this.#dialect, type) }, plan: undefined }
  }

  #anything(node: unknown): Made {
    if (!this.#dialect.open || isNever(node)) throw new Inexpressible()
    return { schema: isSchema(node) ? described(node, this.#dialect) : {}, plan: undefined }
  }

  #reference({ $ref: _, $defs: _defs, definitions: _definitions, ...beside }: JsonSchema, pointer: string): Made {
    if (hasStructure(beside)) return this.#write(this.#merge({}, [{ $ref: pointer }, beside]))
    if (!this.#definitions.has(pointer)) {
      if (resolve(this.#root, pointer) === undefined) throw new Inexpressible()
      this.#define(pointer)
    }
    const definition = this.#definitions.get(pointer) as Definition
    const cyclic = definition.made === undefined
    // A schema that refers to itself, without an object or a list in between, has no meaning.
    if (cyclic && (this.#dialect.recursion === 'no' || definition.level === this.#level)) throw new Inexpressible()
    const changes = cyclic ? this.#dialect.optional === 'nullable' : definition.plan !== undefined
    const plan: RestorePlan | undefined = changes ? { kind: 'reference', target: definition } : undefined
    const own = described(beside, this.#dialect)
    // Vendors take nothing beside a reference.
    if (definition.made && Object.keys(own).length > 0) {
      return { ...definition.made, schema: { ...definition.made.schema, ...own } }
    }
    definition.used = true
    return { schema: { $ref: `#/$defs/${definition.name}` }, plan, cyclic }
  }

  #merge({ allOf: _, ...beside }: JsonSchema, schemas: readonly unknown[]): JsonSchema {
    const [only] = schemas
    if (schemas.length === 1 && isSchema(only) && !hasStructure(beside)) return { ...only, ...beside }
    const sum = merged(this.#root, [beside, ...schemas])
    if (!sum) throw new Inexpressible()
    return sum
  }

  #values(node: JsonSchema): Made {
    const values = node.const !== undefined ? [node.const] : (node.enum as Json[])
    const groups = Map.groupBy(new Set(values), (value) => (value === null ? 'null' : typeof value))
    if (groups.has('object') || groups.size === 0) throw new Inexpressible()
    const branches = [...groups].map(([type, list]): JsonSchema => {
      if (type === 'null' || (type === 'boolean' && list.length === 2)) return { type }
      return this.#dialect.lists(type) ? { type, enum: list } : { type, description: `enum: ${JSON.stringify(list)}` }
    })
    const [only] = branches
    const about = described(node, this.#dialect)
    if (branches.length > 1 || !only) return { schema: { ...about, anyOf: branches }, plan: undefined }
    return { schema: { ...only, ...about }, plan: undefined }
  }

  #union(node: JsonSchema, branches: readonly unknown[]): Made {
    const made = branches.filter((branch) => !isNever(branch)).map((branch) => this.#write(branch))
    const [only] = made
    if (!only) throw new Inexpressible()
    const cyclic = made.some((one) => one.cyclic)
    const about = described(node, this.#dialect)
    if (made.length === 1)
      return { ...only, schema: only.schema.$ref === undefined ? { ...only.schema, ...about } : only.schema }
    return {
      schema: { ...about, anyOf: made.map(({ schema }) => schema) },
      plan: this.#choice(made),
      cyclic,
    }
  }

  #choice(made: readonly Made[]): RestorePlan | undefined {
    if (made.every(({ plan }) => !plan)) return undefined
    const others = made.filter(({ schema }) => schema.type !== 'null')
    const [only] = others
    if (others.length === 1) return only?.plan
    const branches = others.map(({ schema, plan }) => ({
      plan,
      fits: (value: unknown) => fits(this.#finished, schema, value),
    }))
    return { kind: 'union', branches }
  }

  #object(node: JsonSchema): Made {
    const { properties, rest } = membersOf(node)
    const needed = new Set(Array.isArray(node.required) ? node.required : [])
    const unknown = [...needed].some((name) => !Object.hasOwn(properties, String(name)))
    if (!this.#dialect.open && (rest !== false || unknown)) throw new Inexpressible()
    const members = Object.entries(properties)
      .filter(([name, schema]) => needed.has(name) || !isNever(schema))
      .map(([name, schema]) => this.#member(name, schema, needed.has(name)))
    const drops = new Set(members.filter(({ drop }) => drop).map(({ name }) => name))
    const plans = new Map(members.flatMap(({ name, plan }) => (plan ? [[name, plan] as const] : [])))
    return {
      schema: {
        type: 'object',
        ...described(node, this.#dialect, 'object'),
        properties: Object.fromEntries(members.map(({ name, schema }) => [name, schema])),
        required: members.filter(({ required }) => required).map(({ name }) => name),
        additionalProperties: isSchema(rest) ? this.#inside(rest).schema : rest !== false,
      },
      plan: drops.size > 0 || plans.size > 0 ? { kind: 'object', drops, members: plans } : undefined,
      cyclic: members.some(({ cyclic }) => cyclic),
    }
  }

  /** A member of an object. Contract: with `drop`, its `null` means that it is missing. */
  #member(name: string, schema: unknown, needed: boolean) {
    const { optional, recursion } = this.#dialect
    const made = this.#inside(schema)
    const drop = optional === 'nullable' && !needed && !admitsNull(this.#root, schema)
    const breaksCircle = recursion === 'optional' && made.cyclic === true
    return {
      ...made,
      name,
      schema: drop ? nullable(made.schema) : made.schema,
      drop,
      required: optional === 'nullable' || (needed && !breaksCircle),
    }
  }

  #array(node: JsonSchema): Made {
    const { items, prefixItems } = node
    const first = Array.isArray(prefixItems) ? prefixItems : []
    const ends = first.length > 0 && (items === undefined || items === false)
    const rest = ends ? undefined : this.#inside(items ?? true)
    if (first.length > 0 && !this.#dialect.open) return this.#tuple(node, first, rest)
    const made = first.map((item) => this.#inside(item))
    const sized = ends && node.maxItems === undefined ? { ...node, maxItems: first.length } : node
    return {
      schema: {
        type: 'array',
        ...described(sized, this.#dialect, 'array'),
        ...(made.length > 0 && { prefixItems: made.map(({ schema }) => schema) }),
        ...(rest && { items: rest.schema }),
      },
      plan: rest?.plan && { kind: 'array', items: rest.plan },
      cyclic: [...made, ...(rest ? [rest] : [])].some((one) => one.cyclic),
    }
  }

  /** A list of a fixed order is asked for as an object with its positions as names. */
  #tuple(node: JsonSchema, first: readonly unknown[], rest: Made | undefined): Made {
    const needed = typeof node.minItems === 'number' ? node.minItems : first.length
    const { optional } = this.#dialect
    const items = first.map((item) => this.#inside(item))
    const drops = first.map((item, i) => i >= needed && !admitsNull(this.#root, item))
    const sent = items.map(({ schema }, i) => (drops[i] && optional === 'nullable' ? nullable(schema) : schema))
    const names = items.map((_, i) => String(i)).filter((_, i) => i < needed || optional === 'nullable')
    return {
      schema: {
        type: 'object',
        ...described(node, this.#dialect),
        properties: { ...sent, ...(rest && { rest: { type: 'array', items: rest.schema } }) },
        required: [...names, ...(rest ? ['rest'] : [])],
        additionalProperties: false,
      },
      plan: { kind: 'tuple', items: items.map(({ plan }, i) => ({ plan, drop: drops[i] === true })), rest: rest?.plan },
      cyclic: [...items, ...(rest ? [rest] : [])].some((one) => one.cyclic),
    }
  }
}
