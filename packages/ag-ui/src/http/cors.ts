import { checkOption, checkOptionNames } from '@troupe/kernel/kit'
import { refuse } from './refuse.ts'

/** Which pages of other origins may call a handler. */
export interface CorsOptions {
  /** The exact origins: `https://app.example.com`. */
  readonly origins: readonly string[]
  /** Whether these pages may send cookies. @default false */
  readonly credentials?: boolean
}

const WHO = 'agUiHandler: cors'
const METHODS = 'GET, POST, PATCH, DELETE'
const EXPOSED = 'x-request-id, retry-after'
const MAX_AGE_S = '600'

/** Contract: throws `CONFIG_INVALID` for anything but exact origins, because a wildcard lets every page read what its visitor can read. */
export function checkCors(cors: CorsOptions): void {
  checkOptionNames(WHO, cors, { origins: true, credentials: true }, { origin: 'origins' })
  const { origins } = cors
  checkOption(Array.isArray(origins) && origins.length > 0, WHO, 'origins must be a list of origins', origins)
  for (const origin of origins) {
    checkOption(isOrigin(origin), WHO, 'an origin must be exact, like https://app.example.com', origin)
  }
}

function isOrigin(origin: unknown): boolean {
  return typeof origin === 'string' && URL.canParse(origin) && new URL(origin).origin === origin
}

/** The answer to a preflight; undefined for any other request. Contract: needs no user, because browsers send none. */
export function preflight(cors: CorsOptions, request: Request, requestId: string): Response | undefined {
  const { method, headers } = request
  if (method !== 'OPTIONS' || !headers.has('access-control-request-method')) return undefined
  const response = allows(cors, request)
    ? new Response(null, { status: 204 })
    : refuse({ code: 'FORBIDDEN', message: 'cors: this origin is not allowed' }, requestId)
  if (response.ok) {
    response.headers.set('access-control-allow-methods', METHODS)
    response.headers.set('access-control-max-age', MAX_AGE_S)
    const wanted = headers.get('access-control-request-headers')
    if (wanted !== null) response.headers.set('access-control-allow-headers', wanted)
  }
  response.headers.append('vary', 'access-control-request-method, access-control-request-headers')
  return response
}

/** Adds the headers by which a browser lets the page read a response. */
export function allowOrigin(cors: CorsOptions, request: Request, { headers }: Response): void {
  headers.append('vary', 'origin')
  if (!allows(cors, request)) return
  headers.set('access-control-allow-origin', request.headers.get('origin') as string)
  headers.set('access-control-expose-headers', EXPOSED)
  if (cors.credentials) headers.set('access-control-allow-credentials', 'true')
}

function allows({ origins }: CorsOptions, { headers }: Request): boolean {
  return origins.includes(headers.get('origin') ?? '')
}
