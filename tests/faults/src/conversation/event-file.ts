import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { AgentEvent } from '@troupe/kernel'
import { LineFile } from './line-file.ts'

/**
 * The events of a conversation as its readers saw them, across processes.
 * Contract: readers follow the process that took a run last; what an earlier one still shows, they do not see.
 */
export class EventFile {
  readonly #owner: string
  readonly #name: string
  readonly #seen: LineFile<AgentEvent>

  /** `name` is that of the process. */
  constructor(folder: string, name: string) {
    this.#owner = join(folder, 'owner')
    this.#name = name
    this.#seen = new LineFile(join(folder, 'events'))
  }

  /** Lets the readers follow this process. */
  take(): void {
    writeFileSync(this.#owner, this.#name)
  }

  add(event: AgentEvent): void {
    if (existsSync(this.#owner) && readFileSync(this.#owner, 'utf8') === this.#name) this.#seen.add(event)
  }

  all(): readonly AgentEvent[] {
    return this.#seen.all()
  }

  /** What readers have seen of a run and of the runs inside it. */
  of(runId: string): readonly AgentEvent[] {
    return this.all().filter((event) => event.runId === runId || event.runId.startsWith(`${runId}/`))
  }

  close(): void {
    this.#seen.close()
  }
}
