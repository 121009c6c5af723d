import type { AgUiHandler } from '@troupe/ag-ui'
import type { FlowRunner } from '@troupe/flow'
import type { Agent, ChatModel, Store } from '@troupe/kernel'
import { asFunction, type BuildResolver, type DisposableResolver, type Resolver } from 'awilix'

/** The parts of the app, with their names and types. To add a part, add a line here and a module that registers it. */
export interface App {
  readonly model: ChatModel
  readonly store: Store
  readonly agent: Agent
  readonly runner: FlowRunner
  /** Serves the agent over AG-UI. */
  readonly agUi: AgUiHandler
}

/** Registrations of parts. A part that is missing, or has another type than in `App`, does not compile. */
export type Registrations<Name extends keyof App = keyof App> = { readonly [Part in Name]: Resolver<App[Part]> }

/** Registers a part that is made once. A dependency that `App` does not have does not compile. */
export function singleton<Part>(make: (app: App) => Part): BuildResolver<Part> & DisposableResolver<Part> {
  return asFunction(make).singleton()
}
