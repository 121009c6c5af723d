import { type AgentConfig, type AgentHandler, KernelError, type RunContext } from '@troupe/kernel'
import { Sampler } from './call/sampling.ts'
import { checkMcpOptions } from './settings/check-mcp-options.ts'
import { memoryTokens } from './settings/mcp-auth.ts'
import type { McpToolsOptions } from './settings/mcp-tools-options.ts'
import type { McpReport } from './settings/report.ts'
import { SignIns } from './sign-in/sign-ins.ts'
import type { Offer } from './tools/catalog.ts'
import { Catalogs } from './tools/catalogs.ts'
import { toolName } from './tools/tool-name.ts'

/** A handler that gives an agent the tools of MCP servers, and owns the connections to them. */
export type McpTools = AgentHandler & AsyncDisposable

/**
 * Gives an agent the tools of MCP servers.
 * Contract: connects on first use; a server that cannot be reached is reported and left out of the run; disposing closes all connections and ends all processes.
 * @example chatModelAgent({ name: 'guide', model, handlers: [mcpTools({ servers: { files: { command: 'files-server' } } })] })
 */
export function mcpTools(options: McpToolsOptions): McpTools {
  checkMcpOptions(options)
  const { servers, client = { name: 'troupe', version: '0.0.0' }, tokens = memoryTokens(), report = ignore } = options
  const sampler = options.sampling && new Sampler(options.sampling)
  const signIns = new SignIns(tokens)
  const all = Object.entries(servers).map(
    ([name, server]) => new Catalogs({ name, server, clientInfo: client, signIns, sampler, report }),
  )
  return {
    name: 'mcpTools',
    async beforeAgent(ctx, config) {
      const offers = await Promise.all(all.map((catalogs) => offerOf(catalogs, ctx, report)))
      for (const [i, offer] of offers.entries()) if (offer) add(offer, config, all[i]?.name ?? '', report)
    },
    async [Symbol.asyncDispose]() {
      await Promise.all(all.map((catalogs) => catalogs[Symbol.asyncDispose]()))
    },
  }
}

function ignore(): void {}

/** What a server offers; nothing if it cannot be used now. */
async function offerOf(
  catalogs: Catalogs,
  ctx: RunContext,
  report: (report: McpReport) => void,
): Promise<Offer | undefined> {
  try {
    return await catalogs.offer(ctx)
  } catch (cause) {
    if (ctx.signal.aborted || KernelError.is(cause, 'INTERRUPTED')) throw cause
    report({ type: 'unavailable', server: catalogs.name, error: KernelError.from(cause, 'MCP_UNAVAILABLE').toJSON() })
    return undefined
  }
}

/** Contract: a tool whose name is taken gets that of its server before it, as the model could not tell the two apart. */
function add(
  { tools, instructions }: Offer,
  config: AgentConfig,
  server: string,
  report: (report: McpReport) => void,
): void {
  const taken = new Set(config.tools.map(({ tool }) => tool.name))
  for (const tool of tools) {
    const name = [tool.name, toolName(`${server}_`, tool.name)].find((each) => !taken.has(each))
    if (name === undefined) {
      report({ type: 'tool-skipped', server, tool: tool.name, reason: 'the name is taken' })
      continue
    }
    taken.add(name)
    config.tools.push({ tool: name === tool.name ? tool : { ...tool, name }, returnDirectly: false })
  }
  if (instructions === undefined) return
  config.instruction += `\n\nThe tools of ${server} come with these notes of their maker:\n${instructions}`
}
