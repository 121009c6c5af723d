import { type AwilixContainer, asValue, createContainer } from 'awilix'
import type { App, Registrations } from './app.ts'
import type { Config } from './config.ts'
import { agentModule } from './modules/agent.ts'
import { modelModule } from './modules/model.ts'
import { storeModule } from './modules/store.ts'

/** Puts the app together: the only file that knows every module. */
export function createApp(config: Config): AwilixContainer<App> {
  const registrations: Registrations = { config: asValue(config), ...modelModule, ...storeModule, ...agentModule }
  return createContainer<App>({ strict: true }).register(registrations)
}
