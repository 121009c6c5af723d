import { AgUiAgent, type AgUiHandler, agUiHandler, type SessionManager } from '@troupe/ag-ui'
import type { FlowRunner } from '@troupe/flow'
import { type Owner, type Store, systemClock } from '@troupe/kernel'
import { asFunction, asValue, type Resolver } from 'awilix'
import { timedAgent } from '../server/timed-agent.ts'

export const agUiModule: {
  readonly owner: Resolver<Owner>
  readonly agUiAgent: Resolver<AgUiAgent>
  readonly sessions: Resolver<SessionManager>
  readonly agUi: Resolver<AgUiHandler>
} = {
  // On this machine everybody is the same visitor.
  owner: asValue({ app: 'assistant', user: 'visitor' }),
  agUiAgent: asFunction(
    ({ runner, store, owner }: { runner: FlowRunner; store: Store; owner: Owner }) =>
      new AgUiAgent({ runner, store, appName: owner.app, userId: owner.user }),
  ).singleton(),
  sessions: asFunction(({ agUiAgent }: { agUiAgent: AgUiAgent }) => agUiAgent.sessions).singleton(),
  agUi: asFunction(({ agUiAgent, store, owner }: { agUiAgent: AgUiAgent; store: Store; owner: Owner }) =>
    agUiHandler({ agent: timedAgent(agUiAgent, systemClock), store, owner, path: '/agent' }),
  ).singleton(),
}
