import { EventType, PROTOCOL_VERSION } from '@ag-ui/core'
import { checkOptionNames } from '@troupe/kernel/kit'
import { type AgUiEvent, isTerminal, type RunWriter } from '../protocol.ts'
import { BROKEN_OFF } from '../translate/run-error.ts'
import { OpenEntities } from './open-entities.ts'

/** The options of a writer. */
export interface RunWriterOptions {
  /** Called with each event that is left out, and the reason. */
  readonly onRefused?: (event: AgUiEvent, reason: string) => void
}

const NOTHING: readonly AgUiEvent[] = []

/**
 * Makes a writer for one run, for agents that write AG-UI events themselves; those of `eventTranslator` need none.
 * @example
 * const writer = runWriter()
 * for await (const event of agUiAgent.run(input)) send(writer.write(event))
 * send(writer.end())
 */
export function runWriter(options: RunWriterOptions = {}): RunWriter {
  checkOptionNames('runWriter', options, { onRefused: true })
  return new Writer(options)
}

class Writer implements RunWriter {
  readonly #onRefused: RunWriterOptions['onRefused']
  readonly #open: OpenEntities = new OpenEntities()
  #started = false
  #ended = false

  constructor({ onRefused }: RunWriterOptions) {
    this.#onRefused = onRefused
  }

  get ended(): boolean {
    return this.#ended
  }

  write(event: AgUiEvent): readonly AgUiEvent[] {
    if (isTerminal(event)) return this.#finish(event)
    return this.#take(event) ? [event] : NOTHING
  }

  writeAll(events: readonly AgUiEvent[]): readonly AgUiEvent[] {
    for (let i = 0; i < events.length; i++) {
      const event = events[i] as AgUiEvent
      if (isTerminal(event) || !this.#take(event)) return this.#rest(events, i)
    }
    return events
  }

  end(terminal: AgUiEvent = BROKEN_OFF): readonly AgUiEvent[] {
    return this.#ended ? NOTHING : this.#finish(isTerminal(terminal) ? terminal : BROKEN_OFF)
  }

  /** The events before the first one that cannot be passed on unchanged, then the result of writing the others. */
  #rest(events: readonly AgUiEvent[], index: number): readonly AgUiEvent[] {
    const out = events.slice(0, index)
    const event = events[index] as AgUiEvent
    if (isTerminal(event)) out.push(...this.#finish(event))
    for (const later of events.slice(index + 1)) out.push(...this.write(later))
    return out
  }

  #take(event: AgUiEvent): boolean {
    const reason = this.#ended ? 'the run has ended' : this.#reasonAgainst(event)
    if (reason !== undefined) this.#onRefused?.(event, reason)
    return reason === undefined
  }

  #reasonAgainst(event: AgUiEvent): string | undefined {
    if (event.type !== EventType.RUN_STARTED) {
      return this.#started ? this.#open.take(event) : 'the run has not started'
    }
    if (this.#started) return 'the run has already started'
    this.#started = true
    return undefined
  }

  #finish(terminal: AgUiEvent): readonly AgUiEvent[] {
    if (this.#ended) {
      this.#onRefused?.(terminal, 'the run has ended')
      return NOTHING
    }
    this.#ended = true
    const out = this.#open.close(terminal)
    if (!this.#started && terminal.type === EventType.RUN_FINISHED) {
      const { threadId, runId } = terminal
      out.push({ type: EventType.RUN_STARTED, threadId, runId, protocolVersion: PROTOCOL_VERSION })
    }
    out.push(terminal)
    return out
  }
}
