import type { AgUiEvent } from '../protocol.ts'

type Taggable = Extract<AgUiEvent, { subagentRunId?: string }>

/** An event with the sub-agent it comes from; the agent that was asked has no tag. */
export function tagged<E extends Taggable>(event: E, owner: string | undefined): E {
  return owner === undefined ? event : { ...event, subagentRunId: owner }
}
