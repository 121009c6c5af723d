import { type AwilixContainer, asValue, createContainer } from 'awilix'
import type { App, Registrations } from './app.ts'
import type { Config } from './config.ts'
import { type Log, stdoutLog } from './log.ts'
import { agentModule } from './modules/agent.ts'
import { modelModule } from './modules/model.ts'
import { serverModule } from './modules/server.ts'
import { storeModule } from './modules/store.ts'
import type { Telemetry } from './telemetry.ts'

/** Puts the app together: the only file that knows every module. */
export function createApp(config: Config, telemetry: Telemetry, log: Log = stdoutLog()): AwilixContainer<App> {
  const registrations: Registrations = {
    config: asValue(config),
    log: asValue(log),
    telemetry: asValue(telemetry),
    ...modelModule,
    ...storeModule,
    ...agentModule,
    ...serverModule,
  }
  return createContainer<App>({ strict: true }).register(registrations)
}

/** Closes in order what is left when no run is under way: records first, the store last. */
export async function closeParts({ messages, telemetry, store, log }: App): Promise<void> {
  await messages[Symbol.asyncDispose]()
  await telemetry[Symbol.asyncDispose]()
  await store[Symbol.asyncDispose]()
  log.write('closed')
}
