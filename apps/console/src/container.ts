import type { FlowRunner } from '@troupe/flow'
import type { Agent, Callback, ChatModel, Store, Tool } from '@troupe/kernel'
import type { MessageLifecycle } from '@troupe/persistence'
import type { AgentRegistry } from '@troupe/subagent'
import { type AwilixContainer, asValue, createContainer } from 'awilix'
import type { Config } from './config.ts'
import { agentsModule } from './modules/agents.ts'
import { modelModule } from './modules/model.ts'
import { recordsModule } from './modules/records.ts'
import { storeModule } from './modules/store.ts'
import { subagentsModule } from './modules/subagents.ts'

/** What the app is made of. */
export interface App {
  readonly config: Config
  readonly model: ChatModel
  readonly tools: readonly Tool[]
  readonly subagents: AgentRegistry
  readonly agent: Agent
  readonly runner: FlowRunner
  readonly store: Store
  readonly messages: MessageLifecycle
  readonly callbacks: readonly Callback[]
}

/** The composition root: the only file that knows every plugin. */
export function createApp(config: Config): AwilixContainer<App> {
  return createContainer<App>({ strict: true }).register({
    config: asValue(config),
    ...modelModule,
    ...subagentsModule,
    ...agentsModule,
    ...storeModule,
    ...recordsModule,
  })
}
