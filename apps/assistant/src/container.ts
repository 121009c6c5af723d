import { openTelemetry } from '@troupe-apps/setup'
import { type AwilixContainer, asFunction, asValue, createContainer } from 'awilix'
import type { App, Registrations } from './app.ts'
import type { Config } from './config.ts'
import { agUiModule } from './modules/ag-ui.ts'
import { agentsModule } from './modules/agents.ts'
import { ferriesModule } from './modules/ferries.ts'
import { handlersModule } from './modules/handlers.ts'
import { modelModule } from './modules/model.ts'
import { policyModule } from './modules/policy.ts'
import { recordsModule } from './modules/records.ts'
import { serverModule } from './modules/server.ts'
import { storeModule } from './modules/store.ts'
import { subagentsModule } from './modules/subagents.ts'

/** The composition root: the only file that knows every plugin. Contract: throws `CONFIG_INVALID` for a bad agent or handler file. */
export async function createApp(config: Config, pageFolder: string): Promise<AwilixContainer<App>> {
  const telemetry = await openTelemetry('troupe-assistant', process.env)
  const registrations: Registrations = {
    config: asValue(config),
    telemetry: asFunction(() => telemetry)
      .singleton()
      .disposer((opened) => opened[Symbol.asyncDispose]()),
    pageFolder: asValue(pageFolder),
    ...modelModule,
    ...(await handlersModule()),
    ...policyModule,
    ...ferriesModule,
    ...subagentsModule,
    ...(await agentsModule()),
    ...storeModule,
    ...recordsModule,
    ...agUiModule,
    ...serverModule,
  }
  return createContainer<App>({ strict: true }).register(registrations)
}
