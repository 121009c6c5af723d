import { JOURNAL, type Journal, type Json, KernelError, type RunContext } from '@troupe/kernel'
import { CompletionLog, type JournalEntry } from '@troupe/kernel/journal'
import { checkOption, checkOptionNames, notJson } from '@troupe/kernel/kit'
import { readTape, type SavedTape, savedTape, stepsBefore, type TapeStep } from './saved-tape.ts'

/** Options of `tape`: what happens where the tape ends. */
export interface TapeOptions {
  /** The first step that is done again, such as `model:2`; those after it are done too. @default none: the whole tape is replayed */
  readonly upTo?: string
  /** Whether steps that are not on the tape are done. If not, the run fails with `TAPE_STEP_MISSING`. @default true */
  readonly live?: boolean
}

/** The steps of one run, recorded or replayed. Contract: serves one run. */
export interface Tape {
  /** The id of the recorded run; '' before a recording has begun. */
  readonly runId: string
  /** The names of the steps on the tape, in the order in which they were done. */
  readonly steps: readonly string[]
  /** The steps on the tape that the run has not asked for. */
  readonly unused: readonly string[]
  /** Puts the tape into a run: `startRun(agent, 'Hi', { prepare: tape.prepare })`. Contract: throws `TAPE_USED` for a second run. */
  readonly prepare: (ctx: RunContext) => RunContext
  /** Contract: called by `JSON.stringify`. */
  toJSON(): SavedTape
}

/**
 * Records the steps of a run, or replays a recorded one without calling models and tools.
 * Contract: replays what `JSON.parse` makes of a saved tape; steps that are not on it are done and recorded.
 * @example
 * const recording = tape()
 * await startRun(agent, 'Hi', { prepare: recording.prepare })
 * const replay = tape(JSON.parse(JSON.stringify(recording)))
 * await startRun(agent, 'Hi', { prepare: replay.prepare, runId: replay.runId })
 */
export function tape(saved?: unknown, options: TapeOptions = {}): Tape {
  checkOptionNames('tape', options, { upTo: true, live: true })
  const { upTo, live = true } = options
  checkOption(upTo === undefined || typeof upTo === 'string', 'tape', 'upTo must be the name of a step', upTo)
  checkOption(typeof live === 'boolean', 'tape', 'live must be true or false', live)
  const { runId, steps, asked = [] } = saved === undefined ? savedTape('', []) : readTape(saved)
  return new RunTape(savedTape(runId, upTo === undefined ? steps : stepsBefore(upTo, steps), asked), live)
}

class RunTape implements Tape, Journal {
  runId: string
  readonly #steps: TapeStep[]
  readonly #live: boolean
  readonly #asked: Map<string, number> = new Map()
  /** The steps that asked a person. */
  readonly #interrupted: Set<string>
  #given = 0
  #log: CompletionLog | undefined
  /** The first step that was asked for and is not on the tape. */
  #missing: KernelError | undefined

  constructor({ runId, steps, asked = [] }: SavedTape, live: boolean) {
    this.runId = runId
    this.#steps = [...steps]
    this.#interrupted = new Set(asked)
    this.#live = live
  }

  get steps(): readonly string[] {
    return this.#steps.map(({ step }) => step)
  }

  get unused(): readonly string[] {
    return this.steps.filter((step) => !this.#asked.has(step))
  }

  readonly prepare = (ctx: RunContext): RunContext => {
    if (this.#log) {
      throw new KernelError(
        'TAPE_USED',
        `tape: serves one run, which was ${this.runId}; make another tape for this one`,
      )
    }
    const { runId } = ctx
    this.runId = runId
    this.#log = new CompletionLog({ runId, attempt: 1, openedBy: 1, once: (work) => this.#once(work) })
    return ctx.with(JOURNAL, this)
  }

  perform<T extends Json>(step: string, work: () => Promise<T>): Promise<T> {
    if (this.#missing) return Promise.reject(this.#missing)
    const name = this.#ask(step)
    return (this.#log as CompletionLog).perform(step, async () => {
      if (!this.#live && !this.#interrupted.has(name)) {
        this.#missing ??= this.#missingStep(name)
        throw this.#missing
      }
      return work().catch((error: unknown) => {
        if (KernelError.is(error, 'INTERRUPTED')) this.#interrupted.add(name)
        throw error
      })
    })
  }

  toJSON(): SavedTape {
    return savedTape(this.runId, this.#steps, [...this.#interrupted])
  }

  /** The name that the log gives a step. */
  #ask(step: string): string {
    const name = step.startsWith(`${this.runId}/`) ? step.slice(this.runId.length + 1) : step
    const count = (this.#asked.get(name) ?? 0) + 1
    this.#asked.set(name, count)
    if (count === 1) return name
    this.#asked.set(`${name}~${count}`, 1)
    return `${name}~${count}`
  }

  async #once(work: () => Promise<readonly JournalEntry[]>): Promise<readonly JournalEntry[]> {
    const recorded = this.#steps[this.#given]
    if (recorded) {
      this.#given++
      return [{ ...recorded, by: 1 }]
    }
    const entries = (await work()).map(copied)
    this.#steps.push(...entries.map(({ step, value }) => ({ step, value })))
    this.#given = this.#steps.length
    return entries
  }

  #missingStep(name: string): KernelError {
    const { unused } = this
    const rest = unused.length > 0 ? `; not asked for so far: ${unused.join(', ')}` : ''
    return new KernelError('TAPE_STEP_MISSING', `tape: the run asked for ${name}, which is not on the tape${rest}`)
  }
}

/** Contract: what a run goes on with is what its file has; throws `VALIDATION_FAILED` for a record that is not JSON. */
function copied({ step, by, value }: JournalEntry): JournalEntry {
  const broken = notJson(value)
  if (broken === undefined) return { step, by, value: JSON.parse(JSON.stringify(value)) }
  throw new KernelError('VALIDATION_FAILED', `tape: the record of ${step} is not plain JSON at ${broken || 'its root'}`)
}
