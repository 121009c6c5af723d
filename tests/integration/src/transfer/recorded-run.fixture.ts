import type { AgentAction, AgentEvent, ErrorInfo, EventOf, Interrupt, Run } from '@troupe/kernel'
import type { Recording } from '@troupe/testkit'

/** The events of one run and what tests look at. */
export interface RecordedRun extends Recording {
  readonly text: string | undefined
  readonly outcome: string | undefined
  readonly interrupts: readonly Interrupt[]
  readonly open: readonly string[]
  readonly errors: readonly ErrorInfo[]
  readonly actions: readonly AgentAction[]
  readonly toolEnds: readonly EventOf<'tool-end'>[]
  /** The names of the tools that were started. */
  readonly started: readonly string[]
  /** The paths of the agents that ran, in order. */
  readonly turns: readonly string[]
}

/** Calls `onEvent` with each event of a run before the next one is read. */
export async function* watched(
  run: Run,
  onEvent: (event: AgentEvent, index: number) => void,
): AsyncGenerator<AgentEvent> {
  let index = 0
  for await (const event of run.eventsWithoutThrowing()) {
    onEvent(event, index++)
    yield event
  }
}

/** Picks the parts of a recording that tests look at. */
export function recordedRun(recording: Recording): RecordedRun {
  const own = recording.events.filter(({ parentCallId }) => parentCallId === undefined)
  const pick = <T extends AgentEvent['type']>(type: T) =>
    own.filter((event): event is Extract<AgentEvent, { type: T }> => event.type === type)
  const { end } = recording
  return {
    ...recording,
    text: end?.text,
    outcome: end?.outcome,
    interrupts: end?.interrupts ?? [],
    open: end?.openCallIds ?? [],
    errors: pick('error').map(({ error }) => error),
    actions: pick('action').map(({ action }) => action),
    toolEnds: pick('tool-end'),
    started: pick('tool-start').map(({ name }) => name),
    turns: pick('agent-start').map(({ runPath, agentName }) => [...runPath, agentName].join('/')),
  }
}

/** The calls that started or ended twice. A call that was dropped is in no history, so a later run may use its id. */
export function twice(events: readonly AgentEvent[]): string[] {
  const seen = new Set<string>()
  return events.flatMap((event) => {
    if (event.type !== 'tool-start' && event.type !== 'tool-end') return []
    const dropped = event.type === 'tool-end' && event.status === 'dropped' ? `dropped in ${event.runId} ` : ''
    const key = `${event.type} ${dropped}${event.parentCallId ?? ''} ${event.callId}`
    const known = seen.has(key)
    seen.add(key)
    return known ? [`${key} twice`] : []
  })
}
