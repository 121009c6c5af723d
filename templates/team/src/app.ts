import type { ChatModelAgentOptions } from '@troupe/chat-model'
import type { FlowRunner } from '@troupe/flow'
import type { Agent, AgentHandler, ChatModel, Store } from '@troupe/kernel'
import type { AgentRegistry, Policy } from '@troupe/subagent'
import { asFunction, type BuildResolver, type DisposableResolver, type Resolver } from 'awilix'
import type { Config } from './config.ts'
import type { Shop } from './shop.ts'

/** The parts of the app, with their names and types. To add a part, add a line here and a module that registers it. */
export interface App {
  readonly config: Config
  readonly model: ChatModel
  readonly store: Store
  readonly shop: Shop
  /** Decides which agent may call which tool. */
  readonly policy: Policy
  /** The handlers that every agent gets. */
  readonly handlers: readonly AgentHandler[]
  readonly newAgent: NewAgent
  /** Agents that are called as tools. */
  readonly subagents: AgentRegistry
  /** The agent that every message goes to first, with those that it can transfer to. */
  readonly desk: Agent
  readonly runner: FlowRunner
}

/** Makes an agent with the app's model, unless the options have one, and with the app's handlers. */
export type NewAgent = (options: Omit<ChatModelAgentOptions, 'model'> & Partial<Pick<App, 'model'>>) => Agent

/** Registrations of parts. A part that is missing, or has another type than in `App`, does not compile. */
export type Registrations<Name extends keyof App = keyof App> = { readonly [Part in Name]: Resolver<App[Part]> }

/** Registers a part that is made once. A dependency that `App` does not have does not compile. */
export function singleton<Part>(make: (app: App) => Part): BuildResolver<Part> & DisposableResolver<Part> {
  return asFunction(make).singleton()
}
