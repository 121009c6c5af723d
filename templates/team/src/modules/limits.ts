import { budget, toolCallLimit } from '@troupe/handlers'
import { createPolicy } from '@troupe/subagent'
import { type Registrations, singleton } from '../app.ts'
import { rules } from '../rules.ts'

const DAY = 24 * 3_600_000

/** What agents may do and use. */
export const limitsModule: Registrations<'policy' | 'handlers'> = {
  // With grants a person can answer once for all later calls.
  policy: singleton(({ store }) => createPolicy({ rules, grants: store.grants })),
  handlers: singleton(({ store, config }) => [
    toolCallLimit({ perRun: 30 }),
    budget({
      store,
      limits: [
        { per: 'run', tokens: config.tokensPerRun },
        { per: 'owner', tokens: config.tokensPerDay, windowMs: DAY },
      ],
    }),
  ]),
}
