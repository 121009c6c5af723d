import { checkOption, checkOptionNames } from '@troupe/kernel/kit'

/** Which pages of other origins may call a server. */
export interface CorsOptions {
  /** The exact origins: `https://app.example.com`. */
  readonly origins: readonly string[]
  /** Whether these pages may send cookies. @default false */
  readonly credentials?: boolean
}

const MAX_AGE_S = '600'

/** Contract: throws `CONFIG_INVALID` for anything but exact origins, because a wildcard lets every page read what its visitor can read. */
export function checkCors(who: string, cors: CorsOptions): void {
  checkOptionNames(who, cors, { origins: true, credentials: true }, { origin: 'origins' })
  const { origins } = cors
  checkOption(Array.isArray(origins) && origins.length > 0, who, 'origins must be a list of origins', origins)
  for (const origin of origins) {
    checkOption(isOrigin(origin), who, 'an origin must be exact, like https://app.example.com', origin)
  }
}

/** Contract: false for a pattern, which no page has as its origin. */
function isOrigin(origin: unknown): boolean {
  if (typeof origin !== 'string' || origin.includes('*') || !URL.canParse(origin)) return false
  return new URL(origin).origin === origin
}

/** Whether a page of a listed origin has sent the request. */
export function isAllowedOrigin({ origins }: CorsOptions, { headers }: Request): boolean {
  return origins.includes(headers.get('origin') ?? '')
}

/** The answer to a preflight of an allowed origin; undefined for any other request. Contract: needs no user, because browsers send none. */
export function preflight({ method, headers }: Request, methods: string): Response | undefined {
  if (method !== 'OPTIONS' || !headers.has('access-control-request-method')) return undefined
  const wanted = headers.get('access-control-request-headers')
  return new Response(null, {
    status: 204,
    headers: {
      'access-control-allow-methods': methods,
      'access-control-max-age': MAX_AGE_S,
      vary: 'access-control-request-method, access-control-request-headers',
      ...(wanted !== null && { 'access-control-allow-headers': wanted }),
    },
  })
}

/** Adds the headers by which a browser lets a page of an allowed origin read a response, and the headers of `exposed` of it. */
export function allowOrigin(cors: CorsOptions, request: Request, { headers }: Response, exposed: string): void {
  headers.append('vary', 'origin')
  if (!isAllowedOrigin(cors, request)) return
  headers.set('access-control-allow-origin', request.headers.get('origin') as string)
  headers.set('access-control-expose-headers', exposed)
  if (cors.credentials) headers.set('access-control-allow-credentials', 'true')
}
