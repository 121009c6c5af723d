import type { AgUiHandler } from '@troupe/ag-ui'
import { agUiServer } from '@troupe/ag-ui/node'
import type { AwilixContainer } from 'awilix'
import type { App } from './app.ts'
import { pageFile } from './page.ts'

/** The running app. */
export interface ChatServer extends AsyncDisposable {
  readonly url: string
  /** Ends the runs, then closes the store. */
  stop(graceMs?: number): Promise<void>
}

/** Serves the agent below `/agent`, and the page, if there is one, at all other paths. */
export async function startServer(
  app: AwilixContainer<App>,
  { port, page }: { readonly port: number; readonly page?: string },
): Promise<ChatServer> {
  const { agUi } = app.cradle
  const answer = async (request: Request): Promise<Response> => {
    const [, first] = new URL(request.url).pathname.split('/')
    if (first === 'agent') return agUi(request)
    return page === undefined ? new Response('Not found.', { status: 404 }) : pageFile(page, request)
  }
  const { routes, authenticates, stop: stopRuns } = agUi
  const handler: AgUiHandler = Object.assign(answer, {
    routes,
    authenticates,
    stop: stopRuns,
    [Symbol.asyncDispose]: stopRuns,
  })
  try {
    const server = await agUiServer(handler, { port })
    const stop = async (graceMs?: number) => {
      await server.stop(graceMs)
      await app.dispose()
    }
    return { url: server.url, stop, [Symbol.asyncDispose]: () => stop() }
  } catch (error) {
    await app.dispose()
    throw error
  }
}
