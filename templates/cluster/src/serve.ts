import { agUiServer } from '@troupe/ag-ui/node'
import { reconcile } from '@troupe/persistence'
import type { App } from './app.ts'
import { APP_NAME, describeRuns } from './config.ts'

/** A running server. */
export interface Service {
  readonly url: string
  /** Refuses new requests, lets runs end for `graceMs`, then cancels them. */
  stop(graceMs?: number): Promise<void>
}

const TEN_MINUTES = 600_000

/** Serves the agent at `/agent`, and `/health` for load balancers. The first replica makes the tables, the others wait. */
export async function serve({ config, log, model, store, sessions, agUi }: App): Promise<Service> {
  await store.ready()
  // Closes records that a crash left open; runs that can go on are left alone.
  await reconcile({ store })
  let isLeaving = false
  const health = async () => {
    const found = isLeaving
      ? null
      : await store.threads.list({ app: APP_NAME, user: 'health' }, { limit: 1 }).catch(() => null)
    return new Response(null, { status: found ? 204 : 503 })
  }
  const answer = (request: Request) => (new URL(request.url).pathname === '/health' ? health() : agUi(request))
  const server = await agUiServer(Object.assign(answer, { ...agUi }), { host: config.host, port: config.port })
  const tidy = setInterval(() => {
    Promise.all([reconcile({ store }), sessions.sweep()]).catch(log.report)
  }, TEN_MINUTES)
  const url = `${server.url}/agent`
  log.write('ready', { url, model: model.name, ...describeRuns(config) })
  return {
    url,
    async stop(graceMs) {
      isLeaving = true
      clearInterval(tidy)
      await server.stop(graceMs)
      log.write('stopped')
    },
  }
}
