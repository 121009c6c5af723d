import { type BaseEvent, EventType, type RunStartedEvent } from '@ag-ui/client'
import type { PastRun } from './thread.ts'
import { Trace } from './trace.ts'
import { Transcript } from './transcript.ts'

/** What is shown of a conversation, made of its events: items, runs, and the events themselves if they are kept. */
export class ShownConversation {
  readonly transcript: Transcript = new Transcript()
  readonly trace: Trace = new Trace()
  readonly events: BaseEvent[] = []
  /** The run that is active. */
  runId: string | undefined
  readonly #keepEvents: boolean

  constructor(keepEvents: boolean) {
    this.#keepEvents = keepEvents
  }

  get isEmpty(): boolean {
    return this.transcript.items.length === 0
  }

  /** Adds an event. Contract: the server sends an idle thread as a run without a protocol version, which is not shown. */
  addEvent(event: BaseEvent): void {
    if (event.type === EventType.RUN_STARTED) {
      const { runId, protocolVersion } = event as RunStartedEvent
      this.runId = protocolVersion === undefined ? undefined : runId
    }
    if (this.runId === undefined && event.type !== EventType.RUN_ERROR) return
    if (this.#keepEvents) this.events.push(event)
    this.transcript.addEvent(event)
    this.trace.addEvent(event)
  }

  /** Adds runs of the past. */
  addPast(runs: readonly PastRun[]): void {
    for (const { runId, userMessages, results, messages, events } of runs) {
      for (const { id, text, content = text } of userMessages) this.transcript.addUserMessage(id, content)
      for (const { toolCallId, text } of results) this.transcript.addResult(toolCallId, text)
      this.transcript.addMessages(runId, messages)
      for (const event of events) this.addEvent(event)
    }
  }

  /** Adds the end of a run that this page has left because it could not be cancelled on the server. */
  addLeft(event: BaseEvent): void {
    this.trace.addEvent({ ...event, type: EventType.RUN_FINISHED, outcome: { type: 'cancelled' } } as BaseEvent)
  }
}
