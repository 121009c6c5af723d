import type { AgUiAgent, AgUiHandler, SessionManager } from '@troupe/ag-ui'
import type { FlowRunner } from '@troupe/flow'
import type { Agent, Callback, ChatModel, Owner, Store } from '@troupe/kernel'
import type { MessageLifecycle } from '@troupe/persistence'
import type { AgentRegistry } from '@troupe/subagent'
import { type AwilixContainer, asValue, createContainer } from 'awilix'
import type { Config } from './config.ts'
import { agUiModule } from './modules/ag-ui.ts'
import { agentsModule } from './modules/agents.ts'
import { modelModule } from './modules/model.ts'
import { recordsModule } from './modules/records.ts'
import { serverModule } from './modules/server.ts'
import { storeModule } from './modules/store.ts'
import { subagentsModule } from './modules/subagents.ts'
import type { Api } from './server/api.ts'

/** What the app is made of. */
export interface App {
  readonly config: Config
  readonly model: ChatModel
  readonly subagents: AgentRegistry
  readonly agent: Agent
  readonly runner: FlowRunner
  readonly store: Store
  readonly messages: MessageLifecycle
  readonly callbacks: readonly Callback[]
  readonly owner: Owner
  readonly agUiAgent: AgUiAgent
  readonly sessions: SessionManager
  readonly agUi: AgUiHandler
  readonly api: Api
  readonly pageFolder: string
}

/** What a request adds, in a scope of its own. */
export interface RequestScope extends App {
  readonly request: Request
  readonly response: Promise<Response>
}

/** The composition root: the only file that knows every plugin. */
export function createApp(config: Config, pageFolder: string): AwilixContainer<App> {
  return createContainer<App>({ strict: true }).register({
    config: asValue(config),
    pageFolder: asValue(pageFolder),
    ...modelModule,
    ...subagentsModule,
    ...agentsModule,
    ...storeModule,
    ...recordsModule,
    ...agUiModule,
    ...serverModule,
  })
}
