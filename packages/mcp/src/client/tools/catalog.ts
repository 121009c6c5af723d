import type { Client, Tool as Definition } from '@modelcontextprotocol/client'
import { KernelError, type RunContext, type Tool } from '@troupe/kernel'
import { reasonOf } from '../call/call-error.ts'
import type { ServerCalls } from '../call/server-calls.ts'
import type { ServerLink } from '../call/server-link.ts'
import type { McpServer } from '../settings/mcp-server.ts'
import type { McpReport } from '../settings/report.ts'
import type { SignIns } from '../sign-in/sign-ins.ts'
import { promptTool } from './prompt-tool.ts'
import { resourceTools } from './resource-tools.ts'
import { serverTool } from './server-tool.ts'
import { toolName } from './tool-name.ts'

const MAX_INSTRUCTIONS = 2000

/** What a server offers. */
export interface Offer {
  readonly tools: readonly Tool[]
  readonly instructions: string | undefined
}

/** What a catalog stands on. */
interface CatalogOptions {
  readonly link: ServerLink
  readonly calls: ServerCalls
  readonly signIns: SignIns
  report(report: McpReport): void
}

/** The tools of one server, for all owners or for one. Contract: listed once, and again when the server says that they have changed. */
export class Catalog {
  readonly #options: CatalogOptions
  #offer: Promise<Offer> | undefined
  /** The server's version when it was listed. */
  #version: string | undefined
  /** The definitions seen so far, by the server's names. */
  readonly #seen = new Map<string, string>()

  constructor(options: CatalogOptions) {
    this.#options = options
  }

  /** What the server offers now. Contract: rejects as the connection does, or with `INTERRUPTED` while a person has to sign in. */
  offer(ctx: RunContext): Promise<Offer> {
    if (this.#offer) return this.#offer
    const listing = this.#list(ctx)
    this.#offer = listing
    listing.catch(() => {
      if (this.#offer === listing) this.#offer = undefined
    })
    return listing
  }

  /** Lists again the next time. */
  expire(): void {
    this.#offer = undefined
  }

  /** Lists again the next time if the server is not the version that was listed. */
  connected(version: string | undefined): void {
    if (this.#version !== undefined && this.#version !== version) this.expire()
  }

  async #list(ctx: RunContext): Promise<Offer> {
    const { link, signIns } = this.#options
    const { connectTimeoutMs = 30_000, instructions: withInstructions } = link.server
    const connection = await signIns.during(ctx, link, () => link.connection(ctx))
    const { client } = connection
    this.#version = connection.version
    try {
      const { tools } = await client.listTools(undefined, { timeout: connectTimeoutMs, cacheMode: 'refresh' })
      const instructions = withInstructions ? client.getInstructions()?.slice(0, MAX_INSTRUCTIONS) : undefined
      const others = await this.#otherTools(client)
      return { tools: [...this.#toolsOf(tools), ...others], instructions }
    } catch (error) {
      if (KernelError.is(error)) throw error
      throw new KernelError(
        'MCP_UNAVAILABLE',
        `mcp server ${link.name}: its tools cannot be listed, ${reasonOf(error)}`,
        {
          cause: error,
          retryable: true,
          details: { server: link.name },
        },
      )
    }
  }

  /** The tools for resources and prompts, if they are wanted and the server has some. */
  async #otherTools(client: Client): Promise<readonly Tool[]> {
    const { link, calls } = this.#options
    const { server, name } = link
    const { prefix = `${name}_`, resources = false, prompts = false, connectTimeoutMs = 30_000 } = server
    const capabilities = client.getServerCapabilities() ?? {}
    const found: Tool[] = []
    if (resources && capabilities.resources) found.push(...resourceTools(prefix, server, calls))
    if (!prompts || !capabilities.prompts) return found
    const listed = await client.listPrompts(undefined, { timeout: connectTimeoutMs, cacheMode: 'refresh' })
    this.#checkCount('prompts', listed.prompts.length)
    return [...found, ...listed.prompts.map((prompt) => promptTool(prompt, prefix, server, calls))]
  }

  #checkCount(what: string, count: number): void {
    const { name, server } = this.#options.link
    const { maxTools = 500 } = server
    if (count <= maxTools) return
    const advice = what === 'tools' ? '; choose some with `allow`' : ''
    const message = `mcp server ${name}: offers ${count} ${what}, more than ${maxTools}${advice}`
    throw new KernelError('MCP_UNAVAILABLE', message, { details: { server: name } })
  }

  #toolsOf(definitions: readonly Definition[]): readonly Tool[] {
    const { link, calls, report } = this.#options
    const { name, server } = link
    const { prefix = `${name}_` } = server
    const chosen = definitions.filter((definition) => isChosen(definition, server))
    this.#checkCount('tools', chosen.length)
    const tools = new Map<string, Tool>()
    for (const definition of chosen) {
      this.#compare(definition)
      const skip = (reason: string) => report({ type: 'tool-skipped', server: name, tool: definition.name, reason })
      const free = [toolName(prefix, definition.name), toolName(`${name}_`, definition.name)].find(
        (each) => !tools.has(each),
      )
      if (free === undefined) skip('another tool of the server has this name')
      else {
        try {
          tools.set(free, serverTool(definition, free, server, calls))
        } catch (error) {
          skip(reasonOf(error))
        }
      }
    }
    return [...tools.values()]
  }

  /** Reports a tool that is not what it was: a server may first show one that is harmless. */
  #compare(definition: Definition): void {
    const { name, title, description, inputSchema, annotations } = definition
    const after = JSON.stringify({ title, description, inputSchema, annotations })
    const before = this.#seen.get(name)
    this.#seen.set(name, after)
    if (before === undefined || before === after) return
    this.#options.report({ type: 'tool-changed', server: this.#options.link.name, tool: name, before, after })
  }
}

function isChosen({ name }: Definition, { allow, exclude = [] }: McpServer): boolean {
  return (allow?.includes(name) ?? true) && !exclude.includes(name)
}
