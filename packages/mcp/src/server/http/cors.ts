import { KernelError } from '@troupe/kernel'
import { checkOption, checkOptionNames } from '@troupe/kernel/kit'

/** Which pages of other origins may call a server. */
export interface CorsOptions {
  /** The exact origins: `https://app.example.com`. */
  readonly origins: readonly string[]
  /** Whether these pages may send cookies. @default false */
  readonly credentials?: boolean
}

const WHO = 'mcpServer: cors'
const EXPOSED = 'mcp-session-id, mcp-protocol-version, www-authenticate, retry-after'
const LOCAL_HOST = /^(localhost|127(\.\d{1,3}){3}|\[::1\])(:\d+)?$/i

/** Contract: throws `CONFIG_INVALID` for anything but exact origins. */
export function checkCors(cors: CorsOptions): void {
  checkOptionNames(WHO, cors, { origins: true, credentials: true }, { origin: 'origins' })
  const { origins } = cors
  checkOption(Array.isArray(origins) && origins.length > 0, WHO, 'origins must be a list of origins', origins)
  for (const origin of origins) {
    const exact = typeof origin === 'string' && URL.canParse(origin) && new URL(origin).origin === origin
    checkOption(exact, WHO, 'an origin must be exact, like https://app.example.com', origin)
  }
}

/**
 * Refuses a request that a page of another origin has sent, and without a user one for another host, which blocks DNS rebinding.
 * Contract: throws `FORBIDDEN`; a client that is not a page sends no origin.
 */
export function checkOrigin(request: Request, cors: CorsOptions | undefined, authenticates: boolean): void {
  const host = request.headers.get('host') ?? new URL(request.url).host
  if (!authenticates && !LOCAL_HOST.test(host)) {
    throw new KernelError('FORBIDDEN', 'This server answers requests from its own machine only.')
  }
  const origin = request.headers.get('origin')
  if (origin === null || cors?.origins.includes(origin)) return
  if (URL.canParse(origin) && new URL(origin).host === host.toLowerCase()) return
  throw new KernelError('FORBIDDEN', 'cors: this origin is not allowed')
}

/** The answer to a preflight of an allowed origin; undefined for any other request. */
export function preflight({ method, headers }: Request): Response | undefined {
  if (method !== 'OPTIONS' || !headers.has('access-control-request-method')) return undefined
  const wanted = headers.get('access-control-request-headers')
  return new Response(null, {
    status: 204,
    headers: {
      'access-control-allow-methods': 'GET, POST, DELETE',
      'access-control-max-age': '600',
      vary: 'access-control-request-method, access-control-request-headers',
      ...(wanted !== null && { 'access-control-allow-headers': wanted }),
    },
  })
}

/** Adds the headers by which a browser lets an allowed page read a response. */
export function allowOrigin(cors: CorsOptions | undefined, request: Request, response: Response): Response {
  if (!cors) return response
  response.headers.append('vary', 'origin')
  const origin = request.headers.get('origin')
  if (origin === null || !cors.origins.includes(origin)) return response
  response.headers.set('access-control-allow-origin', origin)
  response.headers.set('access-control-expose-headers', EXPOSED)
  if (cors.credentials) response.headers.set('access-control-allow-credentials', 'true')
  return response
}
