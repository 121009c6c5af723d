import type { RequestScope } from '../app.ts'
import { pageFile } from './page-files.ts'

/** The parts that an answer needs. */
type RespondParts = Pick<RequestScope, 'request' | 'agUi' | 'api' | 'pageFolder'>

/** Answers one request: the AG-UI routes, the routes of the page, or a file of it. */
export async function respond({ request, agUi, api, pageFolder }: RespondParts): Promise<Response> {
  const { pathname } = new URL(request.url)
  const [, first] = pathname.split('/')
  if (first !== 'agent' && first !== 'api') {
    return request.method === 'GET' ? pageFile(pageFolder, pathname) : new Response('Only GET.', { status: 405 })
  }
  if (isForeign(request)) return new Response('Not from another page.', { status: 403 })
  return first === 'agent' ? agUi(request) : api(request)
}

/** Whether a browser says that the page of somebody else sends it; a page on another port is one. */
function isForeign({ headers }: Request): boolean {
  return !['same-origin', 'none'].includes(headers.get('sec-fetch-site') ?? 'none')
}
