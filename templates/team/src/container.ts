import { type AwilixContainer, asValue, createContainer } from 'awilix'
import type { App, Registrations } from './app.ts'
import type { Config } from './config.ts'
import { agentsModule } from './modules/agents.ts'
import { limitsModule } from './modules/limits.ts'
import { modelModule } from './modules/model.ts'
import { shopModule } from './modules/shop.ts'
import { storeModule } from './modules/store.ts'

/** Puts the app together: the only file that knows every module. */
export function createApp(config: Config): AwilixContainer<App> {
  const registrations: Registrations = {
    config: asValue(config),
    ...modelModule,
    ...storeModule,
    ...shopModule,
    ...limitsModule,
    ...agentsModule,
  }
  return createContainer<App>({ strict: true }).register(registrations)
}
