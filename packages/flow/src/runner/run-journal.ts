import {
  type AgentEvent,
  type Answers,
  type Clock,
  type Journal,
  type JournalStore,
  type Json,
  type JsonObject,
  KernelError,
  type Message,
  type RunOptions,
  type ThreadRef,
} from '@troupe/kernel'
import { CompletionLog, type JournalEntry } from '@troupe/kernel/journal'
import { got } from '@troupe/kernel/kit'
import { type StoreWrite, withRetries } from './with-retries.ts'

const FORMAT = 1

/** The first entry of a journal: what the run was asked to do, beside what is in its thread. */
export type OpenedRun = {
  readonly format: 1
  readonly agentName: string
  /** The token of the attempt that opened the run. */
  readonly by: number
  readonly answers?: Answers
  /** The messages that came with the answers. */
  readonly next?: readonly Message[]
  readonly options?: RunOptions
  readonly instruction?: string
  /** The state that lives for this run alone. */
  readonly temp?: JsonObject
  readonly carry?: Json
  /** The first message of the history that the run was shown. @default the first of the thread */
  readonly from?: string
}

/** Makes the first entry of a journal. */
export function openedRun(opened: Omit<OpenedRun, 'format'>): OpenedRun {
  return { format: FORMAT, ...opened }
}

/** Reads a stored journal. Contract: throws `CHECKPOINT_INVALID` if it is broken, of another format, or of another agent. */
export function readJournal(
  entries: readonly Json[],
  agentName: string,
): { readonly opened: OpenedRun; readonly recorded: readonly JournalEntry[]; readonly kept?: JsonObject } {
  const [first, ...recorded] = entries as readonly [OpenedRun | null, ...KeepingEntry[]]
  const wrong = (what: string) => new KernelError('CHECKPOINT_INVALID', `journal of ${agentName}: ${what}`)
  if (first?.format !== FORMAT) throw wrong(`expected format ${FORMAT}, ${got(first?.format)}`)
  if (first.agentName !== agentName) throw wrong(`it belongs to another agent, ${got(first.agentName)}`)
  if (!recorded.every((entry) => typeof entry?.step === 'string' && entry.value !== undefined)) {
    throw wrong('an entry is malformed')
  }
  const { kept } = recorded[0] ?? {}
  return { opened: first, recorded, ...(kept && { kept }) }
}

/** A finished step; the first that an attempt records has what its callbacks keep. */
type KeepingEntry = JournalEntry & { readonly kept?: JsonObject }

/** Where the steps of a run are kept. */
export interface JournalPlace {
  readonly journal: JournalStore
  readonly clock: Clock
  readonly ref: ThreadRef
  readonly runId: string
  /** The token of the lease, which numbers the attempts. */
  readonly token: number
  readonly write: StoreWrite | undefined
}

/** The journal of one attempt to carry out a run: the steps of earlier attempts, then those that it appends. */
export class RunJournal {
  readonly #place: JournalPlace
  readonly #recorded: readonly JournalEntry[]
  readonly #atEnd: (() => void) | undefined
  #given = 0
  /** Whether the end of the recorded steps has been reached. */
  #live = false
  #keep: (() => JsonObject | undefined) | undefined
  readonly steps: CompletionLog

  /** `atEnd` is called where the recorded steps end, and throws if the run must not go on. */
  constructor(
    place: JournalPlace,
    { by, recorded = [] }: { readonly by: number; readonly recorded?: readonly JournalEntry[] },
    { atEnd, ...options }: Pick<Journal, 'shown' | 'unknownCalls'> & { readonly atEnd?: () => void } = {},
  ) {
    this.#place = place
    this.#recorded = recorded
    this.#atEnd = atEnd
    this.steps = new CompletionLog({
      runId: place.runId,
      attempt: place.token,
      openedBy: by,
      once: (work) => this.#once(work),
      ...options,
    })
  }

  /** Sets what is kept with the next step that is recorded. */
  keepWith(keep: () => JsonObject | undefined): void {
    this.#keep = keep
  }

  /** Whether a run that ends now may lack steps that were recorded: it was stopped before it came to their end. */
  isCutShort(aborted: boolean): boolean {
    const { length } = this.#recorded
    return !this.#live && length > 0 && (aborted || this.#given < length)
  }

  /** Whether readers have seen an event that the run shows now, as far as the steps tell. Contract: a change of the state at the end of a step may not have been shown. */
  hasShown({ type }: AgentEvent): boolean {
    return this.#given < this.#recorded.length || (this.steps.retelling && type !== 'state-delta')
  }

  async #once(work: () => Promise<readonly JournalEntry[]>): Promise<readonly JournalEntry[]> {
    const recorded = this.#recorded[this.#given]
    if (recorded) {
      this.#given++
      return [recorded]
    }
    this.#live = true
    this.#atEnd?.()
    const entries = this.#withKept(await work())
    const { journal, clock, ref, runId, token, write = (work) => withRetries(clock, work) } = this.#place
    if (entries.length > 0) await write(() => journal.append(ref, runId, entries, token))
    return entries
  }

  #withKept(entries: readonly JournalEntry[]): readonly JournalEntry[] {
    const [first, ...others] = entries
    const kept = first && this.#keep?.()
    if (first) this.#keep = undefined
    return first && kept ? [{ ...first, kept } as KeepingEntry, ...others] : entries
  }
}
