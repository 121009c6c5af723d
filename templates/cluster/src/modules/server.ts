import { userInfo } from 'node:os'
import { agUiHandler, SessionManager } from '@troupe/ag-ui'
import { type Registrations, singleton } from '../app.ts'
import { APP_NAME } from '../config.ts'
import { tokensWith } from '../tokens.ts'

/** What serves the agent over AG-UI. */
export const serverModule: Registrations<'sessions' | 'agUi'> = {
  // Conversations are kept; the logs of runs are deleted after a day.
  sessions: singleton(
    ({ store, log }) => new SessionManager({ store, sessionTimeoutMs: Number.POSITIVE_INFINITY, report: log.report }),
  ),
  agUi: singleton(({ config: { tokenSecret }, runner, store, log }) =>
    agUiHandler({
      runner,
      store,
      path: '/agent',
      report: log.report,
      // A run whose process is gone goes on when a client follows it.
      lostRuns: 'continue',
      ...(tokenSecret === undefined
        ? { owner: { app: APP_NAME, user: userInfo().username } }
        : { appName: APP_NAME, authenticate: tokensWith(tokenSecret).authenticate }),
    }),
  ),
}
