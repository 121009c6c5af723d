/** A worker: it carries runs out for Restate. Any number of them may run behind one address. */
import { AG_UI_INPUT } from '@troupe/ag-ui'
import { registerWorkers, restateWorker } from '@troupe/durable-restate'
import { runner } from '@troupe/flow'
import { readWorkerConfig } from './config.ts'
import { closeParts, createApp } from './container.ts'
import { openTelemetry } from './open-telemetry.ts'
import { untilStopped } from './until-stopped.ts'

/** How long a step may go on after SIGTERM; then it is begun again elsewhere, or has an unknown outcome. */
const GRACE_MS = 20_000

try {
  const config = readWorkerConfig(process.env)
  const app = createApp(config, await openTelemetry(process.env))
  const stopped = untilStopped()
  try {
    const { agent, callbacks, messages, store, log, model } = app.cradle
    await store.ready()
    const worker = restateWorker({
      store,
      agents: { [agent.name]: (host) => runner({ agent, callbacks, ...host }) },
      // Tools and handlers read the request of the client.
      shared: [AG_UI_INPUT],
      settled: (ref) => messages.flush(ref),
    })
    const port = await worker.serve(config.workerPort)
    if (config.admin) await registerWorkers({ admin: config.admin, workers: config.workers })
    log.write('ready', { port, model: model.name })
    await stopped
    await worker.stop(GRACE_MS)
    log.write('stopped')
  } finally {
    await closeParts(app.cradle)
  }
} catch (error) {
  console.error(error instanceof Error ? error.message : error)
  process.exitCode = 1
}
