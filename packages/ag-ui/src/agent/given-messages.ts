import type { Json, JsonObject, Message } from '@troupe/kernel'
import type { AgUiMessage } from '../protocol.ts'
import { isJsonObject } from '../translate/json-patch.ts'
import { toAgUiMessages } from '../translate/to-ag-ui-messages.ts'
import type { RunPlan } from './run-plan.ts'

/** The messages that a request adds to its thread. */
export function givenBy(plan: Exclude<RunPlan, { kind: 'nothing' }>): readonly Message[] {
  return plan.kind === 'run' ? plan.input.messages : plan.users
}

/** Notes the messages beside answers for whoever continues the run: they enter the thread after the results. */
export function withGiven(carried: Json, plan: Exclude<RunPlan, { kind: 'nothing' }>): Json {
  if (plan.kind === 'run' || plan.users.length === 0) return carried
  return { ...(carried as JsonObject), given: toAgUiMessages(plan.users) as unknown as Json }
}

/** The history of a run that is continued, with the messages that came beside its answers. */
export function withGivenOf(history: readonly AgUiMessage[], carried: Json | undefined): readonly AgUiMessage[] {
  const given = isJsonObject(carried) && Array.isArray(carried.given) ? (carried.given as unknown as AgUiMessage[]) : []
  return [...history, ...given.filter(({ id }) => !history.some((message) => message.id === id))]
}
