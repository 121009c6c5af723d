import { type AgentEvent, KernelError, type Sink } from '@troupe/kernel'
import { jsonLength, sinkTo } from '@troupe/kernel/kit'

/** Every event costs memory, even an empty one. */
const EVENT = 16

/** Counts the characters of the events of a run. Contract: called for every event, so it must be cheap. */
export class RunLength {
  readonly #runId: string
  readonly #most: number
  #length = 0

  constructor(runId: string, most: number) {
    this.#runId = runId
    this.#most = most
  }

  /** A sink that counts what it passes on. */
  limited(sink: Sink<AgentEvent>): Sink<AgentEvent> {
    return sinkTo(sink, (event: AgentEvent) => {
      this.add(event)
      return sink.write(event)
    })
  }

  /** Contract: throws `RUN_TOO_LARGE` for an event that is too much; events that only end something always pass, so that the run can end. */
  add(event: AgentEvent): void {
    this.#length += EVENT + lengthOf(event, this.#most)
    if (this.#length <= this.#most || ENDS.has(event.type)) return
    const message = `run ${this.#runId}: its events have more than ${this.#most} characters; raise limits.runChars if it needs more`
    throw new KernelError('RUN_TOO_LARGE', message, { details: { runChars: this.#most } })
  }
}

const ENDS: ReadonlySet<AgentEvent['type']> = new Set<AgentEvent['type']>([
  'message-end',
  'tool-call-end',
  'tool-end',
  'agent-end',
  'run-end',
  'error',
])

/** The length of the fields that can be long. */
function lengthOf(event: AgentEvent, most: number): number {
  switch (event.type) {
    case 'text-delta':
    case 'reasoning-delta':
    case 'tool-call-delta':
      return event.delta.length
    case 'tool-delta':
      return jsonLength(event.delta, most)
    case 'message-end':
      return jsonLength(event.message.content, most)
    case 'tool-end':
      return jsonLength(event.content, most) + rest(event.data, most) + rest(event.display, most)
    case 'custom':
    case 'state-delta':
    case 'action':
      return jsonLength(event, most)
    default:
      return 0
  }
}

function rest(value: unknown, most: number): number {
  return value === undefined ? 0 : jsonLength(value, most)
}
