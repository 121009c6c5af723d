import type { Implementation } from '@modelcontextprotocol/client'
import type { Owner, RunContext } from '@troupe/kernel'
import type { Sampler } from '../call/sampling.ts'
import { ServerCalls } from '../call/server-calls.ts'
import { ServerLink } from '../call/server-link.ts'
import type { McpServer } from '../settings/mcp-server.ts'
import { Recent } from '../settings/recent.ts'
import type { McpReport } from '../settings/report.ts'
import type { SignIns } from '../sign-in/sign-ins.ts'
import { Catalog, type Offer } from './catalog.ts'

/** What the catalogs of a server stand on. */
interface CatalogsOptions {
  readonly name: string
  readonly server: McpServer
  readonly clientInfo: Implementation
  readonly signIns: SignIns
  readonly sampler: Sampler | undefined
  report(report: McpReport): void
}

/** The catalogs of one server: one, or one for each owner where owners sign in. */
export class Catalogs implements AsyncDisposable {
  readonly name: string
  readonly #options: CatalogsOptions
  readonly #link: ServerLink
  readonly #calls: ServerCalls
  readonly #byOwner = new Recent<Catalog>()

  constructor(options: CatalogsOptions) {
    const { name, server, clientInfo, signIns, sampler } = options
    this.name = name
    this.#options = options
    this.#link = new ServerLink({
      name,
      server,
      clientInfo,
      sampling: sampler !== undefined,
      signIns,
      onListChanged: (owner) => this.#byOwner.get(keyOf(owner))?.expire(),
      onConnected: (owner, version) => this.#byOwner.get(keyOf(owner))?.connected(version),
    })
    this.#calls = new ServerCalls(this.#link, signIns, sampler)
  }

  offer(ctx: RunContext): Promise<Offer> {
    const key = keyOf(this.#link.isPersonal ? ctx.session : undefined)
    const found = this.#byOwner.get(key)
    if (found) return found.offer(ctx)
    const { signIns, report } = this.#options
    const catalog = new Catalog({ link: this.#link, calls: this.#calls, signIns, report })
    this.#byOwner.set(key, catalog)
    return catalog.offer(ctx)
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#link.dispose()
  }
}

function keyOf(owner: Owner | undefined): string {
  return owner ? JSON.stringify([owner.app, owner.user]) : ''
}
