import type {
  OAuthClientInformationContext,
  OAuthClientMetadata,
  OAuthClientProvider,
  OAuthDiscoveryState,
  StoredOAuthClientInformation,
  StoredOAuthTokens,
} from '@modelcontextprotocol/client'
import { KernelError, type Owner } from '@troupe/kernel'
import type { McpAuth, McpTokenStore } from '../settings/mcp-auth.ts'

/** What is kept of the sign-in of one owner to one server. */
interface SavedSignIn {
  readonly tokens?: StoredOAuthTokens
  readonly client?: StoredOAuthClientInformation
  readonly discovery?: OAuthDiscoveryState
  readonly verifier?: string
  readonly state?: string
  /** Where the person is to sign in; only while that is awaited. */
  readonly url?: string
}

/** The sign-in of one owner to one server, as the SDK asks for it. */
export class OwnerSignIn implements OAuthClientProvider {
  readonly #server: string
  readonly #owner: Owner
  readonly #auth: McpAuth
  readonly #store: McpTokenStore
  #changes: Promise<void> = Promise.resolve()

  constructor(server: string, owner: Owner, auth: McpAuth, store: McpTokenStore) {
    this.#server = server
    this.#owner = owner
    this.#auth = auth
    this.#store = store
    if (auth.clientMetadataUrl !== undefined) this.clientMetadataUrl = auth.clientMetadataUrl
  }

  clientMetadataUrl?: string

  get redirectUrl(): string {
    return this.#auth.redirectUrl
  }

  get clientMetadata(): OAuthClientMetadata {
    const { redirectUrl, clientName = 'Troupe', client, scope } = this.#auth
    return {
      client_name: clientName,
      redirect_uris: [redirectUrl],
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      ...(client?.secret === undefined && { token_endpoint_auth_method: 'none' }),
      ...(scope !== undefined && { scope }),
    }
  }

  /** The page to sign in on, while a person is awaited. */
  async pendingUrl(): Promise<string | undefined> {
    return (await this.#read()).url
  }

  /** Whether an answer belongs to the page that the person was sent to. */
  async accepts(state: string | null): Promise<boolean> {
    return state !== null && (await this.#read()).state === state
  }

  /** Forgets the page, as the person has signed in or will not. */
  async close(): Promise<void> {
    await this.#change(({ url: _url, verifier: _verifier, state: _state, ...rest }) => rest)
  }

  async state(): Promise<string> {
    const state = crypto.randomUUID()
    await this.#change((saved) => ({ ...saved, state }))
    return state
  }

  async clientInformation(ctx?: OAuthClientInformationContext): Promise<StoredOAuthClientInformation | undefined> {
    const { client } = this.#auth
    const saved = (await this.#read()).client
    return client ? this.#ownClient(client, saved, ctx) : ofIssuer(saved, ctx)
  }

  /** The client that the app has registered. Contract: belongs to the sign-in server that it was shown to first, and throws for any other. */
  #ownClient(
    { id, secret }: NonNullable<McpAuth['client']>,
    saved: StoredOAuthClientInformation | undefined,
    ctx: OAuthClientInformationContext | undefined,
  ): StoredOAuthClientInformation {
    const issuer = saved?.client_id === id ? saved.issuer : undefined
    const own = { client_id: id, ...(secret !== undefined && { client_secret: secret }), ...(issuer && { issuer }) }
    if (ofIssuer(own, ctx)) return own
    const why = `now signs in at ${ctx?.issuer}, and the client in auth belongs to ${issuer}; if that is right, empty its entries in the token store`
    throw new KernelError('MCP_SIGN_IN_FAILED', `mcp server ${this.#server}: ${why}`, {
      details: { server: this.#server },
    })
  }

  /** Contract: of the client that the app has registered, only its sign-in server is kept. */
  async saveClientInformation(client: StoredOAuthClientInformation): Promise<void> {
    const { client_id, issuer } = client
    const kept = this.#auth.client ? { client_id, ...(issuer && { issuer }) } : client
    await this.#change((saved) => ({ ...saved, client: kept }))
  }

  async tokens(ctx?: OAuthClientInformationContext): Promise<StoredOAuthTokens | undefined> {
    return ofIssuer((await this.#read()).tokens, ctx)
  }

  async saveTokens(tokens: StoredOAuthTokens): Promise<void> {
    await this.#change((saved) => ({ ...saved, tokens }))
  }

  async redirectToAuthorization(url: URL): Promise<void> {
    await this.#change((saved) => ({ ...saved, url: url.href }))
  }

  async saveCodeVerifier(verifier: string): Promise<void> {
    await this.#change((saved) => ({ ...saved, verifier }))
  }

  async codeVerifier(): Promise<string> {
    return (await this.#read()).verifier ?? ''
  }

  async saveDiscoveryState(discovery: OAuthDiscoveryState): Promise<void> {
    await this.#change((saved) => ({ ...saved, discovery }))
  }

  async discoveryState(): Promise<OAuthDiscoveryState | undefined> {
    const { discovery, url } = await this.#read()
    // For the answer that is awaited; after that a server may have moved to another sign-in server.
    return url === undefined ? undefined : discovery
  }

  async invalidateCredentials(scope: 'all' | 'client' | 'tokens' | 'verifier' | 'discovery'): Promise<void> {
    await this.#change((saved) => {
      if (scope === 'all') return {}
      const { [scope]: _gone, ...rest } = saved
      return rest
    })
  }

  async #read(): Promise<SavedSignIn> {
    await this.#changes
    const text = await this.#store.read(this.#owner, this.#server)
    return text === undefined ? {} : (JSON.parse(text) as SavedSignIn)
  }

  /** Contract: one after the other, so that none is lost. */
  #change(change: (saved: SavedSignIn) => SavedSignIn): Promise<void> {
    const changed = this.#changes.then(async () => {
      const text = await this.#store.read(this.#owner, this.#server)
      const saved = change(text === undefined ? {} : (JSON.parse(text) as SavedSignIn))
      await this.#store.write(this.#owner, this.#server, JSON.stringify(saved))
    })
    this.#changes = changed.catch(() => undefined)
    return changed
  }
}

/** Contract: what one sign-in server gave is not shown to another. */
function ofIssuer<T extends { readonly issuer?: string | undefined }>(
  value: T | undefined,
  ctx: OAuthClientInformationContext | undefined,
): T | undefined {
  return ctx && value?.issuer !== undefined && value.issuer !== ctx.issuer ? undefined : value
}
