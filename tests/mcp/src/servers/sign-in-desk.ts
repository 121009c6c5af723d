/** The desk behind a sign-in, and the server that signs in, as one `fetch`. */
import { createHash } from 'node:crypto'
import { statelessDesk } from './desk-http.ts'

const DESK = 'https://desk.test'
const SIGN_IN = 'https://sign-in.test'
const OTHER_SIGN_IN = 'https://other-sign-in.test'

/** Two servers without a network. Contract: every token that they give begins with `secret-`. */
export class SignInDesk {
  /** What was asked of them, without the desk. */
  readonly requests: string[] = []
  readonly #desk = statelessDesk()
  readonly #valid = new Set<string>()
  #challenge = ''
  #count = 0

  /** The secrets of clients that were sent to each sign-in server. */
  readonly secrets: string[] = []
  #signIn = SIGN_IN

  /** Says that another sign-in server is in charge from now on. */
  moveSignIn(): void {
    this.#signIn = OTHER_SIGN_IN
    this.#valid.clear()
  }

  /** Makes every access token invalid; refresh tokens stay. */
  expire(): void {
    this.#valid.clear()
  }

  readonly fetch = async (address: string | URL, init?: RequestInit): Promise<Response> => {
    const request = new Request(address, init)
    const url = new URL(request.url)
    if (url.href === `${DESK}/mcp`) return this.#answerDesk(request)
    this.requests.push(`${request.method} ${url.host}${url.pathname}`)
    if (url.href === `${DESK}/.well-known/oauth-protected-resource/mcp`) {
      return Response.json({ resource: `${DESK}/mcp`, authorization_servers: [this.#signIn] })
    }
    const metadata = metadataOf(url.origin)
    if (url.pathname === '/.well-known/oauth-authorization-server') return Response.json(metadata)
    if (url.href === metadata.registration_endpoint) {
      return Response.json({ ...((await request.json()) as object), client_id: 'client-1' }, { status: 201 })
    }
    if (url.href === metadata.token_endpoint) {
      const form = new URLSearchParams(await request.text())
      const basic = atob(request.headers.get('authorization')?.split(' ')[1] ?? '')
      if (form.has('client_secret') || basic !== '') this.secrets.push(url.host)
      return this.#token(form)
    }
    return new Response(null, { status: 404 })
  }

  /** Signs a person in on a page, and gives the address that they come back to. */
  visit(page: string): string {
    const { searchParams } = new URL(page)
    this.#challenge = searchParams.get('code_challenge') ?? ''
    return `${searchParams.get('redirect_uri')}?code=once&state=${searchParams.get('state')}`
  }

  #answerDesk(request: Request): Promise<Response> | Response {
    const [, token = ''] = (request.headers.get('authorization') ?? '').split(' ')
    if (this.#valid.has(token)) return this.#desk(request)
    const challenge = `Bearer resource_metadata="${DESK}/.well-known/oauth-protected-resource/mcp"`
    return new Response(null, { status: 401, headers: { 'www-authenticate': challenge } })
  }

  #token(form: URLSearchParams): Response {
    const verifier = createHash('sha256')
      .update(form.get('code_verifier') ?? '')
      .digest('base64url')
    const isCode = form.get('grant_type') === 'authorization_code' && verifier === this.#challenge
    const isRefresh = form.get('refresh_token')?.startsWith('secret-refresh') ?? false
    if (!isCode && !isRefresh) return Response.json({ error: 'invalid_grant' }, { status: 400 })
    const access_token = `secret-access-${++this.#count}`
    this.#valid.add(access_token)
    return Response.json({ access_token, refresh_token: `secret-refresh-${this.#count}`, token_type: 'Bearer' })
  }
}

function metadataOf(issuer: string) {
  return {
    issuer,
    authorization_endpoint: `${issuer}/authorize`,
    token_endpoint: `${issuer}/token`,
    registration_endpoint: `${issuer}/register`,
    response_types_supported: ['code'],
    code_challenge_methods_supported: ['S256'],
    token_endpoint_auth_methods_supported: ['none', 'client_secret_post'],
  }
}
