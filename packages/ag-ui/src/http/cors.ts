import { allowOrigin as allow, type CorsOptions, isAllowedOrigin, preflight as preflightOf } from '@troupe/http'
import { refuse } from './refuse.ts'

const METHODS = 'GET, POST, PATCH, DELETE'
const EXPOSED = 'x-request-id, retry-after'

/** The answer to a preflight; undefined for any other request. */
export function preflight(cors: CorsOptions, request: Request, requestId: string): Response | undefined {
  const response = preflightOf(request, METHODS)
  if (!response || isAllowedOrigin(cors, request)) return response
  const refused = refuse({ code: 'FORBIDDEN', message: 'cors: this origin is not allowed' }, requestId)
  refused.headers.set('vary', response.headers.get('vary') ?? '')
  return refused
}

/** Adds the headers by which a browser lets the page read a response. */
export function allowOrigin(cors: CorsOptions, request: Request, response: Response): void {
  allow(cors, request, response, EXPOSED)
}
