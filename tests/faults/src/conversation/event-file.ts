import { join } from 'node:path'
import type { AgentEvent } from '@troupe/kernel'
import { LineFile } from './line-file.ts'

/** A process shows an event, or, without one, takes the readers over. */
interface EventLine {
  readonly by: string
  readonly event?: AgentEvent
}

/**
 * The events of a conversation as its readers saw them, across processes.
 * Contract: readers follow the process that took a run last; what an earlier one still shows, they do not see.
 */
export class EventFile {
  readonly #name: string
  readonly #lines: LineFile<EventLine>

  /** `name` is that of the process. */
  constructor(folder: string, name: string) {
    this.#name = name
    this.#lines = new LineFile(join(folder, 'events'))
  }

  /** Lets the readers follow this process. */
  take(): void {
    this.#lines.add({ by: this.#name })
  }

  add(event: AgentEvent): void {
    this.#lines.add({ by: this.#name, event })
  }

  all(): readonly AgentEvent[] {
    const seen: AgentEvent[] = []
    let followed: string | undefined
    for (const { by, event } of this.#lines.all()) {
      if (!event) followed = by
      else if (by === followed) seen.push(event)
    }
    return seen
  }

  /** What readers have seen of a run and of the runs inside it. */
  of(runId: string): readonly AgentEvent[] {
    return this.all().filter((event) => event.runId === runId || event.runId.startsWith(`${runId}/`))
  }

  close(): void {
    this.#lines.close()
  }
}
