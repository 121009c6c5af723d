import { KernelError, type Tool, type ToolMeta, type ToolSpec, toJsonSchema } from '@troupe/kernel'

const SPECS = new WeakMap<Tool, ToolSpec>()

/** The tools of one run, by name and as the model sees them. */
export class Toolbox {
  readonly metas: readonly ToolMeta[]
  readonly specs: readonly ToolSpec[]
  readonly #byName: ReadonlyMap<string, ToolMeta>

  constructor(metas: readonly ToolMeta[]) {
    this.metas = metas
    this.specs = metas.map(({ tool }) => specOf(tool))
    this.#byName = new Map(metas.map((meta) => [meta.tool.name, meta]))
    if (this.#byName.size < metas.length) {
      const names = metas.map(({ tool }) => tool.name)
      const twice = names.find((name, i) => names.indexOf(name) !== i)
      throw new KernelError('CONFIG_INVALID', `tools: names are unique, got "${twice}" twice`)
    }
  }

  get(name: string): ToolMeta | undefined {
    return this.#byName.get(name)
  }

  /** This toolbox if it holds just these tools, else a new one. */
  holding(metas: readonly ToolMeta[]): Toolbox {
    const same = metas.length === this.metas.length && metas.every((meta, i) => meta === this.metas[i])
    return same ? this : new Toolbox(metas)
  }
}

/** Contract: a schema is converted once per tool, not per run. */
function specOf(tool: Tool): ToolSpec {
  const known = SPECS.get(tool)
  if (known) return known
  const { name, description } = tool
  const spec = { name, description, parameters: toJsonSchema(tool.parameters) }
  SPECS.set(tool, spec)
  return spec
}
