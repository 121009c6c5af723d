import type { Sink } from '@troupe/kernel'
import type { AgUiEvent } from '../protocol.ts'

/** Writes events to a sink. Contract: in the order in which they came, although agents and tools that run in parallel do not wait for each other. */
export class OrderedSink {
  readonly #sink: Sink<AgUiEvent>
  #busy: Promise<void> | undefined

  constructor(sink: Sink<AgUiEvent>) {
    this.#sink = sink
  }

  write(events: readonly AgUiEvent[]): void | Promise<void> {
    if (events.length === 0) return
    if (this.#busy) return this.#occupy(this.#busy.then(() => this.#put(events, 0)))
    for (let i = 0; i < events.length; i++) {
      const wait = this.#sink.write(events[i] as AgUiEvent)
      if (!wait) continue
      return this.#occupy(i + 1 === events.length ? wait : wait.then(() => this.#put(events, i + 1)))
    }
  }

  /** Writes events that are not known yet. Contract: what comes later waits for them. */
  writeLater(events: Promise<readonly AgUiEvent[]>): Promise<void> {
    const before = this.#busy ?? Promise.resolve()
    return this.#occupy(before.then(() => events).then((ready) => this.#put(ready, 0)))
  }

  async #put(events: readonly AgUiEvent[], from: number): Promise<void> {
    for (let i = from; i < events.length; i++) {
      const wait = this.#sink.write(events[i] as AgUiEvent)
      if (wait) await wait
    }
  }

  #occupy(work: Promise<void>): Promise<void> {
    this.#busy = work
    const free = () => {
      if (this.#busy === work) this.#busy = undefined
    }
    work.then(free, free)
    return work
  }
}
