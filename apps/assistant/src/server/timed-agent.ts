import type { AgUiEvent, ServedAgent } from '@troupe/ag-ui'
import type { Clock } from '@troupe/kernel'
import { mapStream } from '@troupe/kernel/kit'

/** Adds a timestamp to every event of an agent, so that a replayed run has its original times. */
export function timedAgent(agent: ServedAgent, clock: Pick<Clock, 'now'>): ServedAgent {
  const timed = (events: AsyncIterable<AgUiEvent>) =>
    mapStream(events, (event): AgUiEvent => ({ ...event, timestamp: clock.now() }))
  const proceed = agent.continue?.bind(agent)
  return {
    run: (input, options) => timed(agent.run(input, options)),
    ...(proceed && { continue: (ref, options) => timed(proceed(ref, options)) }),
    cancel: (ref, runId) => agent.cancel(ref, runId),
    hidden: (key) => agent.hidden?.(key) ?? false,
    ...(agent.sessions && { sessions: agent.sessions }),
    ...(agent.executions && { executions: agent.executions }),
  }
}
