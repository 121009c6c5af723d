import type { AgUiEvent } from '@troupe/ag-ui'
import type { Findings } from '../checks/findings.ts'
import type { Frame } from './frames-of.ts'

/** A message of a user and the run that answers it, as its client sees them. */
export class Turn {
  readonly runId: string
  readonly message: { readonly id: string; readonly role: 'user'; readonly content: string }
  /** The events of the run, in order. */
  readonly seen: AgUiEvent[] = []
  /** What stood at a position of the log. */
  readonly #types: Map<number, AgUiEvent['type']> = new Map()
  /** The position of the last event. */
  position = 0
  readonly #findings: Findings

  constructor(runId: string, script: string, findings: Findings) {
    this.runId = runId
    this.message = { id: `u-${runId}`, role: 'user', content: script }
    this.#findings = findings
  }

  read({ seq, event }: Frame): void {
    // Only this connection has it: the server says why it gives no more.
    if (seq === undefined || (seq === this.position && isAside(event))) return
    // A client that joins a lost run again gets it from its beginning.
    if (seq <= this.position) {
      const same = (this.#types.get(seq) ?? event.type) === event.type
      this.#findings.check(`${this.runId}: an event that comes again is the same`, same, [seq, event])
      return
    }
    // Pieces of a run that has ended come joined, so a position may be left out; what was seen is compared with the log in the end.
    this.#findings.check(`${this.runId}: nothing comes after the end`, !this.ended, event)
    this.seen.push(event)
    this.#types.set(seq, event.type)
    this.position = seq
  }

  /** Whether the run has ended. */
  get ended(): boolean {
    const last = this.seen.at(-1)
    return last?.type === 'RUN_FINISHED' || last?.type === 'RUN_ERROR'
  }

  /** Whether the client may rely on the turn. */
  get acknowledged(): boolean {
    return this.seen.at(-1)?.type === 'RUN_FINISHED'
  }

  /** The code of a turn that failed. */
  get code(): string | undefined {
    const last = this.seen.at(-1)
    return last?.type === 'RUN_ERROR' ? String(last.code) : undefined
  }
}

/** Whether an event stands in place of events that a client does not get. */
function isAside({ type }: AgUiEvent): boolean {
  return type === 'MESSAGES_SNAPSHOT' || type === 'RUN_ERROR'
}
