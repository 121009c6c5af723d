import {
  type BaseEvent,
  EventType,
  type Interrupt,
  type Message,
  type RunAgentParameters,
  type Tool,
} from '@ag-ui/client'
import { ResumableHttpAgent } from '@troupe/ag-ui/client'
import type { Send } from '../request/access.ts'
import type { ThreadOptions, ThreadState } from './thread.ts'

/** The events that the client keeps itself, for the state and the open questions. The messages are in the transcript, which copies nothing. */
const KEPT: ReadonlySet<string> = new Set([
  EventType.STATE_SNAPSHOT,
  EventType.STATE_DELTA,
  EventType.RUN_FINISHED,
  EventType.RUN_ERROR,
])

/** Says that an error of the client is handled. A client that does not know it throws the error, which is caught too. */
const SILENT: object = { stopPropagation: true }

/** Who hears of what a client receives. */
interface ThreadClientListener {
  readonly onEvent: (event: BaseEvent) => void
  readonly onState: () => void
}

/** The AG-UI client of a conversation as far as it is needed: runs, the state and the open questions. */
export class ThreadClient {
  readonly #agent: ResumableHttpAgent
  /** What the client has thrown. */
  #thrown: Error | undefined
  #isLeft = false

  constructor({ url, threadId, reconnect }: ThreadOptions, send: Send, listener: ThreadClientListener) {
    this.#agent = new ResumableHttpAgent({ url, threadId, fetch: send, ...(reconnect && { reconnect }) })
    this.#agent.subscribe({
      onEvent: ({ event }) => {
        if (this.#isLeft) return { stopPropagation: true }
        listener.onEvent(event)
        return KEPT.has(event.type) ? undefined : { stopPropagation: true }
      },
      // After the client has taken over the state of an event.
      onStateChanged: () => {
        if (!this.#isLeft) listener.onState()
      },
      // The client would also write it to the console.
      onRunFailed: ({ error }) => {
        if (error.name === 'AbortError') return undefined
        this.#thrown = error
        return SILENT
      },
    })
  }

  get state(): ThreadState {
    return this.#agent.state ?? {}
  }

  set state(state: ThreadState) {
    this.#agent.setState(state)
  }

  /** The questions of the last run. */
  get questions(): readonly Interrupt[] {
    return this.#agent.pendingInterrupts
  }

  dropQuestions(): void {
    this.#agent.pendingInterrupts = []
  }

  /** Receives the history, then the active run to its end. */
  join(tools: Tool[]): Promise<void> {
    return this.#through(this.#agent.connectAgent({ tools }))
  }

  /** Starts a run with these messages, and receives it to its end. */
  run(messages: readonly Message[], parameters: RunAgentParameters): Promise<void> {
    this.#agent.setMessages([...messages])
    return this.#through(this.#agent.runAgent(parameters))
  }

  /** Leaves a run that could not be cancelled. */
  abort(): void {
    this.#agent.abortRun()
  }

  /** Stops listening; the run goes on. Contract: nothing is heard of this client any more. */
  leave(): void {
    this.#isLeft = true
    void this.#agent.detachActiveRun()
  }

  /** Waits for the client. Contract: throws what it has thrown. */
  async #through(running: Promise<unknown>): Promise<void> {
    this.#thrown = undefined
    await running
    if (this.#thrown) throw this.#thrown
  }
}
