import { type AgUiServer, agUiServer } from '@troupe/ag-ui/node'
import { reconcile } from '@troupe/persistence'
import { type AwilixContainer, asValue } from 'awilix'
import type { App, RequestScope } from './app.ts'

/** The running app. */
export interface Assistant extends AsyncDisposable {
  readonly url: string
  /** Contract: runs end first, then their records are written, then the store is closed. */
  stop(graceMs?: number): Promise<void>
}

/** Starts the server of an app. Contract: runs of a former process that are still open are closed before the first request. */
export async function startAssistant(app: AwilixContainer<App>): Promise<Assistant> {
  const { agUi, store, messages, sessions, config } = app.cradle
  const answer = async (request: Request): Promise<Response> => {
    const scope = app.createScope<RequestScope>().register({ request: asValue(request) })
    try {
      return await scope.cradle.respond()
    } finally {
      await scope.dispose()
    }
  }
  const { routes, authenticates, stop: stopRuns } = agUi
  const handler = Object.assign(answer, { routes, authenticates, stop: stopRuns, [Symbol.asyncDispose]: stopRuns })
  let server: AgUiServer | undefined
  const stop = async (graceMs?: number) => {
    await server?.stop(graceMs)
    await sessions[Symbol.asyncDispose]()
    await messages[Symbol.asyncDispose]()
    await store[Symbol.asyncDispose]()
    await app.dispose()
  }
  try {
    await reconcile({ store })
    server = await agUiServer(handler, { port: config.port })
  } catch (error) {
    await stop()
    throw error
  }
  return { url: server.url, stop, [Symbol.asyncDispose]: () => stop() }
}
