import { type AwilixContainer, asValue, createContainer } from 'awilix'
import type { App, Registrations } from './app.ts'
import type { Config } from './config.ts'
import { agentModule } from './modules/agent.ts'
import { mcpModule } from './modules/mcp.ts'
import { modelModule } from './modules/model.ts'
import { storeModule } from './modules/store.ts'

/** Puts the app together: the only file that knows every module. */
export function createApp(config: Config): AwilixContainer<App> {
  const registrations: Registrations = {
    config: asValue(config),
    ...modelModule,
    ...storeModule,
    ...agentModule,
    ...mcpModule,
  }
  return createContainer<App>({ strict: true }).register(registrations)
}

/** Closes everything in order: first what is served, then the connections to servers, then the store. */
export async function closeApp(app: AwilixContainer<App>): Promise<void> {
  const { mcp, tools } = app.cradle
  await mcp.stop()
  await tools[Symbol.asyncDispose]()
  await app.dispose()
}
