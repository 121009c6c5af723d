import { StreamableHTTPClientTransport, UnauthorizedError } from '@modelcontextprotocol/client'
import { type Json, KernelError, type Owner, type RunContext } from '@troupe/kernel'
import { httpFetch } from '../connection/transport.ts'
import type { McpTokenStore } from '../settings/mcp-auth.ts'
import { isCommand, type McpServer, type McpUrl } from '../settings/mcp-server.ts'
import { Recent } from '../settings/recent.ts'
import { OwnerSignIn } from './owner-sign-in.ts'

/** So that a server which never grants enough does not ask for ever. */
const MAX_SIGN_INS = 3

/** A server that a person may have to sign in to. */
interface NamedServer {
  readonly name: string
  readonly server: McpServer
}

/** The sign-ins of all owners. Contract: what is secret stays in the token store; a question has the address of the page and nothing else. */
export class SignIns {
  readonly #store: McpTokenStore
  readonly #providers = new Recent<OwnerSignIn>()

  constructor(store: McpTokenStore) {
    this.#store = store
  }

  provider(name: string, { auth }: McpUrl, owner: Owner): OwnerSignIn | undefined {
    if (!auth) return undefined
    const key = JSON.stringify([name, owner.app, owner.user])
    const found = this.#providers.get(key) ?? new OwnerSignIn(name, owner, auth, this.#store)
    this.#providers.set(key, found)
    return found
  }

  isRequired(error: unknown): boolean {
    return error instanceof UnauthorizedError
  }

  /** Does work that may need a sign-in. Contract: an answer that has come is used first; rejects with `INTERRUPTED` while a person is awaited. */
  async during<T>(ctx: RunContext, { name, server }: NamedServer, work: () => Promise<T>): Promise<T> {
    if (isCommand(server) || !server.auth) return work()
    const signIn = this.provider(name, server, ctx.session)
    if ((await signIn?.pendingUrl()) !== undefined) await this.ask(ctx, { name, server })
    try {
      return await work()
    } catch (error) {
      if (!this.isRequired(error) || !(await this.ask(ctx, { name, server }))) throw error
      return work()
    }
  }

  /** Asks a person to sign in. Contract: gives false if there is no page to sign in on. */
  async ask(ctx: RunContext, { name, server }: NamedServer): Promise<boolean> {
    if (isCommand(server)) return false
    const signIn = this.provider(name, server, ctx.session)
    const url = await signIn?.pendingUrl()
    if (!signIn || url === undefined) return false
    const key = `temp:mcp:sign-ins:${name}`
    const count = Number(ctx.state.get(key) ?? 0)
    if (count >= MAX_SIGN_INS) throw failed(name, `still refuses after ${count} sign-ins`)
    if (!ctx.canInterrupt) throw failed(name, 'nobody can be asked to sign in; run it with a session')
    const answer = await ctx.interrupt({
      reason: 'auth',
      message: `Sign in to ${name}.`,
      responseSchema: RESPONSE,
      metadata: { mcpServer: name, url },
    })
    ctx.state.set(key, count + 1)
    await this.#finish(name, server, signIn, answer)
    return true
  }

  async #finish(name: string, server: McpUrl, signIn: OwnerSignIn, answer: Json): Promise<void> {
    try {
      if (answer === null) throw failed(name, 'the sign-in was cancelled')
      const { searchParams } = new URL((answer as { readonly redirectedTo: string }).redirectedTo)
      if (!(await signIn.accepts(searchParams.get('state')))) throw failed(name, 'the answer is for another sign-in')
      const transport = new StreamableHTTPClientTransport(new URL(server.url), {
        authProvider: signIn,
        fetch: httpFetch(name, server),
      })
      await transport.finishAuth(searchParams)
    } catch (error) {
      throw KernelError.is(error) ? error : failed(name, KernelError.from(error).message, error)
    } finally {
      await signIn.close()
    }
  }
}

const RESPONSE = {
  type: 'object',
  properties: { redirectedTo: { type: 'string', description: 'the whole address that the person came back to' } },
  required: ['redirectedTo'],
} as const

function failed(server: string, why: string, cause?: unknown): KernelError {
  return new KernelError('MCP_SIGN_IN_FAILED', `mcp server ${server}: ${why}`, { cause, details: { server } })
}
