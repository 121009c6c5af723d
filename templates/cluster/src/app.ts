import type { AgUiHandler, SessionManager } from '@troupe/ag-ui'
import type { Agent, Callback, ChatModel, FullStore, Runner } from '@troupe/kernel'
import type { MessageLifecycle } from '@troupe/persistence'
import { asFunction, type BuildResolver, type DisposableResolver, type Resolver } from 'awilix'
import type { Config } from './config.ts'
import type { Log } from './log.ts'
import type { Telemetry } from './telemetry.ts'

/** The parts of the app, with their names and types. To add a part, add a line here and a module that registers it. */
export interface App {
  readonly config: Config
  readonly log: Log
  readonly telemetry: Telemetry
  readonly model: ChatModel
  readonly store: FullStore & { ready(): Promise<void> }
  readonly agent: Agent
  /** Writes the records of runs, and may still write when runs have ended. */
  readonly messages: MessageLifecycle
  readonly callbacks: readonly Callback[]
  /** Carries runs out in this process, or orders them from workers. */
  readonly runner: Runner
  readonly sessions: SessionManager
  readonly agUi: AgUiHandler
}

/** Registrations of parts. A part that is missing, or has another type than in `App`, does not compile. */
export type Registrations<Name extends keyof App = keyof App> = { readonly [Part in Name]: Resolver<App[Part]> }

/** Registers a part that is made once. A dependency that `App` does not have does not compile. */
export function singleton<Part>(make: (app: App) => Part): BuildResolver<Part> & DisposableResolver<Part> {
  return asFunction(make).singleton()
}
