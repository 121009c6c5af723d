import { type AgUiHandler, type AgUiHandlerOptions, agUiHandler } from '@troupe/ag-ui'
import { chatModelAgent } from '@troupe/chat-model'
import { type RunnerOptions, runner } from '@troupe/flow'
import type { Store } from '@troupe/kernel'
import { answerModel } from './answer-model.ts'

/** Serves the answer model over AG-UI; the `authorization` header is the user. */
export function loadHandler(
  store: Store,
  options: Partial<AgUiHandlerOptions> = {},
  limits: NonNullable<RunnerOptions['limits']> = {},
): AgUiHandler {
  const agent = chatModelAgent({ name: 'Load', model: answerModel(), instruction: 'Answer.' })
  return agUiHandler({
    runner: runner({ agent, store, limits }),
    store,
    appName: 'load',
    authenticate: ({ headers }) => ({ user: headers.get('authorization') ?? 'ann' }),
    maxConcurrentExecutions: 1_000,
    ...options,
  })
}
