import { got, isObject, KernelError } from '../data/kernel-error.ts'
import { checkOptionNames } from '../data/option.ts'
import { checkTool } from './check-tool.ts'
import type { Tool, ToolMeta } from './tool.ts'

/**
 * The tools of one agent, each with its options.
 * Contract: throws `CONFIG_INVALID` for a value that is not a tool and for a name that occurs twice.
 * @example toolMetas([weather, { tool: finalAnswer, returnDirectly: true }])
 */
export function toolMetas(tools: readonly (Tool | ToolMeta)[]): ToolMeta[] {
  const list: unknown = tools
  if (!Array.isArray(list)) throw new KernelError('CONFIG_INVALID', `tools: expected a list, ${got(tools)}`)
  const metas = tools.map((entry): ToolMeta => {
    const meta =
      isObject(entry) && 'tool' in entry ? (entry as ToolMeta) : { tool: entry as Tool, returnDirectly: false }
    if (meta === entry) checkOptionNames('tools', meta, { tool: true, returnDirectly: true })
    checkTool(meta.tool)
    return meta
  })
  checkNames(metas)
  return metas
}

/** Contract: throws `CONFIG_INVALID` for a name that occurs twice. */
export function checkNames(tools: readonly ToolMeta[]): void {
  const names = new Set<unknown>()
  for (const meta of tools) {
    const name = meta?.tool?.name
    if (name === undefined)
      throw new KernelError('CONFIG_INVALID', `tools: expected { tool, returnDirectly }, ${got(meta)}`)
    if (names.has(name)) throw new KernelError('CONFIG_INVALID', `tools: names must be unique, ${got(name)} twice`)
    names.add(name)
  }
}
