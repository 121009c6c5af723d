import type { AgUiAgent, AgUiHandler, SessionManager } from '@troupe/ag-ui'
import type { ChatModelAgentOptions } from '@troupe/chat-model'
import type { FlowRunner } from '@troupe/flow'
import type { Agent, AgentHandler, Callback, ChatModel, Owner, Store } from '@troupe/kernel'
import type { McpTools } from '@troupe/mcp'
import type { MessageLifecycle } from '@troupe/persistence'
import type { AgentRegistry, Policy } from '@troupe/subagent'
import type { Telemetry } from '@troupe-apps/setup'
import { asFunction, type BuildResolver, type DisposableResolver, type Resolver } from 'awilix'
import type { Config } from './config.ts'
import type { Api } from './server/api.ts'

/** The parts of the app, with their names and types. */
export interface App {
  readonly config: Config
  readonly model: ChatModel
  readonly telemetry: Telemetry
  /** The handlers that every agent gets, from `src/handlers`. */
  readonly handlers: readonly AgentHandler[]
  readonly newAgent: NewAgent
  /** The tools of the harbour, over MCP. */
  readonly ferries: McpTools
  /** Decides which calls may run, and whom to ask. */
  readonly policy: Policy
  /** Agents that are called as tools. */
  readonly subagents: AgentRegistry
  /** The agents that the router can transfer to, from `src/agents`. */
  readonly agents: readonly Agent[]
  /** The agent that every message goes to first. */
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

/** The parts of the app and of one request, in the scope of the request. */
export interface RequestScope extends App {
  readonly request: Request
  /** Answers the request. */
  readonly respond: () => Promise<Response>
}

/** Makes an agent with the app's model, unless the options have one, and with the app's handlers before its own. */
export type NewAgent = (options: Omit<ChatModelAgentOptions, 'model'> & Partial<Pick<App, 'model'>>) => Agent

/** The type of the export `agent` in a file of `src/agents`. */
export type MakeAgent = (app: App) => Agent

/** The type of the export `handler` in a file of `src/handlers`. */
export type MakeHandler = (app: App) => AgentHandler

/** Registrations of parts of the app or of a request. Contract: one for each name, of the type that it has there. */
export type Registrations<Name extends keyof RequestScope = keyof App | 'respond'> = {
  readonly [Part in Name]: Resolver<RequestScope[Part]>
}

/** Registers a part that is made once. Contract: a dependency that `App` does not have, or has with another type, does not compile. */
export function singleton<Part>(make: (app: App) => Part): BuildResolver<Part> & DisposableResolver<Part> {
  return asFunction(make).singleton()
}

/** Registers a part that is made once for each request. Contract: as for `singleton`, with the parts of a request as well. */
export function perRequest<Part>(make: (scope: RequestScope) => Part): BuildResolver<Part> & DisposableResolver<Part> {
  return asFunction(make).scoped()
}
