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
  const [, first] = pathname.split('/')
  if (first !== 'agent' && first !== 'api') {
    return request.method === 'GET'
      ? pageFile(pageFolder, pathname)
      : new Response('Method not allowed: use GET.', { status: 405 })
  }
  if (isCrossSite(request)) return new Response('Requests from other sites are not allowed.', { status: 403 })
  return first === 'agent' ? agUi(request) : api(request)
}

/** Whether a page of another site sends the request; a page on another port is another site. */
function isCrossSite({ headers }: Request): boolean {
  return !['same-origin', 'none'].includes(headers.get('sec-fetch-site') ?? 'none')
}
