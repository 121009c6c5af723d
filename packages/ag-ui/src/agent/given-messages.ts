import type { Json, JsonObject, Message, Thread } from '@troupe/kernel'
import type { AgUiMessage } from '../protocol.ts'
import { isJsonObject } from '../translate/json-patch.ts'
import { toAgUiMessages } from '../translate/to-ag-ui-messages.ts'
import type { RunPlan } from './run-plan.ts'

type Planned = Exclude<RunPlan, { kind: 'nothing' }>

/** The messages that a request adds to its thread: results, then those that came with earlier answers, then its own. */
export function givenBy(plan: Planned, thread: Pick<Thread, 'checkpoint'> | undefined): readonly Message[] {
  const messages: readonly Message[] = plan.kind === 'run' ? plan.input.messages : plan.users
  const { next } = thread?.checkpoint ?? {}
  if (!next) return messages
  return [...messages.filter(({ role }) => role === 'tool'), ...next, ...messages.filter(({ role }) => role !== 'tool')]
}

/** Whether messages came with answers: the thread has them after the results. */
function isBesideAnswers(plan: Planned, thread: Pick<Thread, 'checkpoint'> | undefined): boolean {
  return (plan.kind === 'resume' && plan.users.length > 0) || (thread?.checkpoint?.next ?? []).length > 0
}

/** Notes the messages beside answers, for a process that continues the run: they enter the thread after the results. */
export function withGiven(carried: Json, plan: Planned, thread: Pick<Thread, 'checkpoint'> | undefined): Json {
  if (!isBesideAnswers(plan, thread)) return carried
  return { ...(carried as JsonObject), given: toAgUiMessages(givenBy(plan, thread)) as unknown as Json }
}

/** The messages that came beside the answers of a run that is continued. */
export function carriedMessages(carried: Json | undefined): readonly AgUiMessage[] {
  return isJsonObject(carried) && Array.isArray(carried.given) ? (carried.given as unknown as AgUiMessage[]) : []
}

/** A history with messages that it may have already. */
export function withMessages(history: readonly AgUiMessage[], more: readonly AgUiMessage[]): readonly AgUiMessage[] {
  return [...history, ...more.filter(({ id }) => !history.some((message) => message.id === id))]
}
