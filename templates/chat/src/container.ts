import { type AwilixContainer, createContainer } from 'awilix'
import type { App, Registrations } from './app.ts'
import { agUiModule } from './modules/ag-ui.ts'
import { agentModule } from './modules/agent.ts'
import { modelModule } from './modules/model.ts'
import { storeModule } from './modules/store.ts'

/** Puts the app together: the only file that knows every module. */
export function createApp(): AwilixContainer<App> {
  const registrations: Registrations = { ...modelModule, ...storeModule, ...agentModule, ...agUiModule }
  return createContainer<App>({ strict: true }).register(registrations)
}
