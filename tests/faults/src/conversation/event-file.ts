import { join } from 'node:path'
import type { AgentEvent } from '@troupe/kernel'
import { LineFile } from './line-file.ts'

/** A process shows an event, or takes the readers over with the lease that has a token. */
type EventLine =
  | { readonly by: string; readonly event: AgentEvent }
  | { readonly by: string; readonly token: number; readonly event?: undefined }

/**
 * The events of a conversation as its readers saw them, across processes.
 * Contract: readers follow the process that has the newest lease; what an earlier one still shows, they do not see, even if it notes its lease late.
 */
export class EventFile {
  readonly #name: string
  readonly #lines: LineFile<EventLine>

  /** `name` is that of the process. */
  constructor(folder: string, name: string) {
    this.#name = name
    this.#lines = new LineFile(join(folder, 'events'))
  }

  /** Lets the readers follow this process, which has a lease. */
  take(token: number): void {
    this.#lines.add({ by: this.#name, token })
  }

  add(event: AgentEvent): void {
    this.#lines.add({ by: this.#name, event })
  }

  all(): readonly AgentEvent[] {
    const seen: AgentEvent[] = []
    let followed: { readonly by: string; readonly token: number } | undefined
    for (const line of this.#lines.all()) {
      if (!line.event) followed = followed && followed.token > line.token ? followed : line
      else if (line.by === followed?.by) seen.push(line.event)
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
