import type { Agent, AgentEvent, AgentInput, Clock, EventOf, JsonObject, ResumeInfo, RunContext } from '@troupe/kernel'
import { systemClock } from '@troupe/kernel/kit'
import { type RunSettings, startRun } from '@troupe/kernel/run'

/** The id of a recorded run and of all its replays, so that their ids are the same. */
export const RUN_ID = 'recorded'

/** An event, and the last step that was done before it. */
export interface PlayedEvent {
  readonly event: AgentEvent
  readonly after: string | undefined
}

/** A run on a journal, as its reader saw it. */
export interface PlayedRun {
  readonly events: readonly PlayedEvent[]
  readonly end: EventOf<'run-end'> | undefined
  /** The state at its end. */
  readonly state: JsonObject
}

/** A journal to run on, with the steps that are on it. */
interface PlayedJournal {
  readonly steps: readonly string[]
  prepare(ctx: RunContext): RunContext
}

/** Runs an agent on a journal to its end. Contract: the clock is ahead by `laterMs`, as in a run that goes on after a while. */
export async function playRun(
  agent: Agent,
  start: AgentInput | ResumeInfo,
  settings: RunSettings,
  on: PlayedJournal,
  laterMs = 0,
): Promise<PlayedRun> {
  const events: PlayedEvent[] = []
  const run = startRun(agent, start, {
    canInterrupt: true,
    ...settings,
    runId: RUN_ID,
    clock: ahead(settings.clock ?? systemClock, laterMs),
    prepare: (ctx) => on.prepare(settings.prepare?.(ctx) ?? ctx),
  })
  for await (const event of run.eventsWithoutThrowing()) events.push({ event, after: on.steps.at(-1) })
  const last = events.at(-1)?.event
  const end = last?.type === 'run-end' ? last : undefined
  return { events, end, state: stateAfter(settings.state ?? {}, events) }
}

function stateAfter(before: JsonObject, events: readonly PlayedEvent[]): JsonObject {
  const state = new Map(Object.entries(before))
  for (const { event } of events) {
    if (event.type !== 'state-delta') continue
    for (const [key, value] of Object.entries(event.set)) state.set(key, value)
    for (const key of event.removed) state.delete(key)
  }
  return Object.fromEntries(state)
}

function ahead(clock: Clock, ms: number): Clock {
  return { now: () => clock.now() + ms, after: (...timer) => clock.after(...timer) }
}
