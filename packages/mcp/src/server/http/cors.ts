import {
  allowOrigin as allow,
  type CorsOptions,
  isAllowedOrigin,
  isLocalHost,
  preflight as preflightOf,
} from '@troupe/http'
import { KernelError } from '@troupe/kernel'

const METHODS = 'GET, POST, DELETE'
const EXPOSED = 'mcp-session-id, mcp-protocol-version, www-authenticate, retry-after'

/**
 * Refuses a request that a page of another origin has sent, and without a user one for another host, which blocks DNS rebinding.
 * Contract: throws `FORBIDDEN`; a client that is not a page sends no origin.
 */
export function checkOrigin(request: Request, cors: CorsOptions | undefined, authenticates: boolean): void {
  const host = request.headers.get('host') ?? new URL(request.url).host
  if (!authenticates && !isLocalHost(host)) {
    throw new KernelError('FORBIDDEN', 'This server answers requests from its own machine only.')
  }
  const origin = request.headers.get('origin')
  if (origin === null || (cors && isAllowedOrigin(cors, request))) return
  if (URL.canParse(origin) && new URL(origin).host === host.toLowerCase()) return
  throw new KernelError('FORBIDDEN', 'cors: this origin is not allowed')
}

/** The answer to a preflight of an allowed origin; undefined for any other request. */
export function preflight(request: Request): Response | undefined {
  return preflightOf(request, METHODS)
}

/** Adds the headers by which a browser lets an allowed page read a response. */
export function allowOrigin(cors: CorsOptions | undefined, request: Request, response: Response): Response {
  if (cors) allow(cors, request, response, EXPOSED)
  return response
}
