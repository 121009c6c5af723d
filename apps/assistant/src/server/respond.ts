import type { AgUiHandler } from '@troupe/ag-ui'
import type { Api } from './api.ts'
import { pageFile } from './page-file.ts'

/** The parts that an answer needs. */
interface RespondParts {
  readonly request: Request
  readonly agUi: AgUiHandler
  readonly api: Api
  readonly pageFolder: string
}

/** Answers one request: with AG-UI, with the routes of the page, or with a file of the page. */
export async function respond({ request, agUi, api, pageFolder }: RespondParts): Promise<Response> {
  const { pathname } = new URL(request.url)
  if (!isWellFormed(pathname)) return new Response('Malformed path.', { status: 400 })
  const [, first] = pathname.split('/')
  if (first !== 'agent' && first !== 'api') {
    return request.method === 'GET'
      ? pageFile(pageFolder, pathname)
      : new Response('Method not allowed: use GET.', { status: 405 })
  }
  if (isCrossSite(request) || isCrossOrigin(request))
    return new Response('Requests from other sites are not allowed.', { status: 403 })
  return first === 'agent' ? agUi(request) : api(request)
}

/** Whether a page of another origin sends the request; older browsers send only this header. A proxy may change the scheme, so the host counts. */
function isCrossOrigin({ headers }: Request): boolean {
  const origin = headers.get('origin')
  if (origin === null) return false
  return !URL.canParse(origin) || new URL(origin).host !== headers.get('host')
}

/** Whether a page of another site sends the request; a page on another port is another site. */
function isCrossSite({ headers }: Request): boolean {
  return !['same-origin', 'none'].includes(headers.get('sec-fetch-site') ?? 'none')
}

function isWellFormed(pathname: string): boolean {
  try {
    return !decodeURIComponent(pathname).includes('\0')
  } catch {
    return false
  }
}
