import { agUiHandler } from '@troupe/ag-ui'
import { type Registrations, singleton } from '../app.ts'

/**
 * The agent over AG-UI. Everybody on this machine is the same user, and nobody else is let in. For several users replace `owner` by `authenticate`, which finds out
 * who sends a request.
 */
export const agUiModule: Registrations<'agUi'> = {
  agUi: singleton(({ runner, store }) =>
    agUiHandler({ runner, store, path: '/agent', owner: { app: 'chat', user: 'me' } }),
  ),
}
