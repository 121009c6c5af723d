/** The server: it speaks to clients, and carries runs out unless workers do. */
import { readConfig } from './config.ts'
import { closeParts, createApp } from './container.ts'
import { openTelemetry } from './open-telemetry.ts'
import { serve } from './serve.ts'
import { untilStopped } from './until-stopped.ts'

/** How long runs may go on after SIGTERM. */
const GRACE_MS = 20_000

try {
  const config = readConfig(process.env)
  const app = createApp(config, await openTelemetry(process.env))
  const stopped = untilStopped()
  try {
    const service = await serve(app.cradle)
    await stopped
    await service.stop(GRACE_MS)
  } finally {
    await closeParts(app.cradle)
  }
} catch (error) {
  console.error(error instanceof Error ? error.message : error)
  process.exitCode = 1
}
