import type { Tool as AgUiTool } from '@ag-ui/core'
import type { ToolMeta } from '@troupe/kernel'
import { clientProxyTool } from './client-proxy-tool.ts'

/** What flow gives to agents that can hand over. */
const TRANSFER_TOOL = 'transfer_to_agent'

/**
 * The client's tools for one run.
 * Contract: one whose name is taken by a tool of the agent is left out by the kernel, and the name of the transfer tool is taken everywhere.
 * @example runner.run({ messages, additions: { tools: clientProxyToolset(input.tools) } }, { session })
 */
export function clientProxyToolset(tools: readonly AgUiTool[]): readonly ToolMeta[] {
  return tools
    .filter(({ name }) => name !== TRANSFER_TOOL)
    .map((tool) => ({ tool: clientProxyTool(tool), returnDirectly: false }))
}
