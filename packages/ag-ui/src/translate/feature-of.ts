import { EventType } from '@ag-ui/core'

/** The parts of the protocol that not every client before 1.0 accepts; each breaks the run of a client that does not know it. */
export type Feature = 'results' | 'parallel' | 'activities' | 'parts' | 'reasoning' | 'media' | 'subagents'

/** The feature that each event belongs to. */
export const FEATURE_OF: Readonly<Partial<Record<EventType, Feature>>> = {
  [EventType.TOOL_CALL_RESULT]: 'results',
  [EventType.ACTIVITY_SNAPSHOT]: 'activities',
  [EventType.ACTIVITY_DELTA]: 'activities',
  [EventType.REASONING_START]: 'reasoning',
  [EventType.REASONING_MESSAGE_START]: 'reasoning',
  [EventType.REASONING_MESSAGE_CONTENT]: 'reasoning',
  [EventType.REASONING_MESSAGE_END]: 'reasoning',
  [EventType.REASONING_MESSAGE_CHUNK]: 'reasoning',
  [EventType.REASONING_END]: 'reasoning',
  [EventType.REASONING_ENCRYPTED_VALUE]: 'reasoning',
  [EventType.SUBAGENT_STARTED]: 'subagents',
  [EventType.SUBAGENT_FINISHED]: 'subagents',
  [EventType.SUBAGENT_ERROR]: 'subagents',
}
