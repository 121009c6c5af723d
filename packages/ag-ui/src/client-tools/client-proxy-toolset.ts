import type { Tool as AgUiTool } from '@ag-ui/core'
import type { ToolMeta } from '@troupe/kernel'
import { clientProxyTool } from './client-proxy-tool.ts'

/** The tool that flow gives to agents that can transfer. */
const TRANSFER_TOOL = 'transfer_to_agent'

/**
 * The client's tools for one run.
 * Contract: the kernel leaves out a client tool whose name an agent's tool has; the name of the transfer tool is always reserved.
 * @example runner({ agent, store }).run({ messages, additions: { tools: clientProxyToolset(input.tools) } }, { session })
 */
export function clientProxyToolset(tools: readonly AgUiTool[]): readonly ToolMeta[] {
  return tools
    .filter(({ name }) => name !== TRANSFER_TOOL)
    .map((tool) => ({ tool: clientProxyTool(tool), returnDirectly: false }))
}

/** The client's tools with a prefix before their names for the model; people read the client's names. */
export function prefixedToolset(tools: readonly AgUiTool[], prefix: string): readonly ToolMeta[] {
  if (prefix === '') return clientProxyToolset(tools)
  const named = clientProxyToolset(tools.map((tool) => ({ ...tool, name: prefix + tool.name })))
  return named.map(({ tool, ...meta }) => ({ ...meta, tool: { ...tool, displayName: tool.name.slice(prefix.length) } }))
}
