import { createPolicy } from '@troupe/subagent'
import { type Registrations, singleton } from '../app.ts'

/** The policy of the tools that write: it asks, and keeps what a person allows for good. */
export const policyModule: Registrations<'policy'> = {
  policy: singleton(({ store }) => createPolicy({ grants: store.grants })),
}
