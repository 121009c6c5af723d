import { AgUiAgent, agUiHandler } from '@troupe/ag-ui'
import { systemClock } from '@troupe/kernel/kit'
import { asValue } from 'awilix'
import { type Registrations, singleton } from '../app.ts'
import { timedAgent } from '../server/timed-agent.ts'

export const agUiModule: Registrations<'owner' | 'agUiAgent' | 'sessions' | 'agUi'> = {
  // The app runs on one machine, so everybody is the same user.
  owner: asValue({ app: 'assistant', user: 'visitor' }),
  agUiAgent: singleton(
    ({ runner, store, owner: { app: appName, user: userId } }) =>
      // The page needs no summaries, and no names of loaded tools.
      new AgUiAgent({ runner, store, appName, userId, hidden: (key) => key.startsWith('context:') }),
  ),
  sessions: singleton(({ agUiAgent }) => agUiAgent.sessions),
  agUi: singleton(({ agUiAgent, store, owner, config: { lostRuns } }) =>
    agUiHandler({ agent: timedAgent(agUiAgent, systemClock), store, owner, path: '/agent', lostRuns }),
  ),
}
