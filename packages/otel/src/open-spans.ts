import type { RunInfo, ThreadRef } from '@troupe/kernel'
import type { OpenSpan } from './open-span.ts'

/** The open spans of all runs, for callers that have the context of a run. */
export class OpenSpans {
  // The object of the session tells apart two runs with the same id in different threads.
  readonly #bySession: WeakMap<ThreadRef, SessionSpans> = new WeakMap()

  of(session: ThreadRef): SessionSpans {
    let spans = this.#bySession.get(session)
    if (!spans) {
      spans = new SessionSpans()
      this.#bySession.set(session, spans)
    }
    return spans
  }

  /** Finds the span at a step of a run. */
  find(session: ThreadRef, runId: string, step: string): OpenSpan | undefined {
    return this.#bySession.get(session)?.at(runId, step)
  }
}

/** The open spans of the runs in one session, by id. */
export class SessionSpans {
  /** The span that was opened last: nearly every question is about this one, so it costs no entry in the map. */
  #last: OpenSpan | undefined
  readonly #others: Map<string, OpenSpan> = new Map()

  add(open: OpenSpan): void {
    const last = this.#last
    if (last) {
      last.shadowed = this.#others.get(last.info.spanId)
      this.#others.set(last.info.spanId, last)
    }
    this.#last = open
  }

  get(spanId: string): OpenSpan | undefined {
    return this.#last?.info.spanId === spanId ? this.#last : this.#others.get(spanId)
  }

  at(runId: string, step: string): OpenSpan | undefined {
    const info = this.#last?.info
    const isLast = info?.runId === runId && info.spanId.length === runId.length + 1 + step.length
    if (isLast && info.spanId.endsWith(step)) return this.#last
    return this.#others.get(`${runId}/${step}`)
  }

  /** Removes the span that an owner opened with this object. Contract: gives it once. */
  take(info: RunInfo, owner: object): OpenSpan | undefined {
    const last = this.#last
    if (last?.info === info && last.owner === owner) {
      this.#last = undefined
      return last
    }
    let above: OpenSpan | undefined
    let open = this.#others.get(info.spanId)
    while (open && (open.info !== info || open.owner !== owner)) {
      above = open
      open = open.shadowed
    }
    if (!open) return undefined
    if (above) above.shadowed = open.shadowed
    else if (open.shadowed) this.#others.set(info.spanId, open.shadowed)
    else this.#others.delete(info.spanId)
    return open
  }
}
