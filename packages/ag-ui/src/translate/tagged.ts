import type { AgUiEvent } from '../protocol.ts'

type Taggable = Extract<AgUiEvent, { subagentRunId?: string }>

/** Tags an event with the sub-agent it comes from; events of the root agent have no tag. */
export function tagged<E extends Taggable>(event: E, owner: string | undefined): E {
  return owner === undefined ? event : { ...event, subagentRunId: owner }
}
