import { type Json, KernelError } from '@troupe/kernel'
import { got, notJson } from '@troupe/kernel/kit'

const FORMAT = 1

/** A step of a recorded run: its name within the run, and its record. */
export type TapeStep = { readonly step: string; readonly value: Json }

/** A recorded run as plain JSON, for a file. */
export type SavedTape = {
  readonly format: 1
  readonly runId: string
  /** In the order in which they were done. */
  readonly steps: readonly TapeStep[]
  /** The steps that asked a person: they have no record and are done again in a replay. */
  readonly asked?: readonly string[]
}

/** Makes the JSON of a recorded run. */
export function savedTape(runId: string, steps: readonly TapeStep[], asked: readonly string[] = []): SavedTape {
  return { format: FORMAT, runId, steps, ...(asked.length > 0 && { asked }) }
}

/** Reads a saved tape. Contract: throws `TAPE_INVALID`, which says what is wrong with it. */
export function readTape(saved: unknown): SavedTape {
  if (typeof saved !== 'object' || saved === null) {
    throw invalid(`expected what JSON.parse makes of a saved tape, ${got(saved)}`)
  }
  const { format, runId, steps, asked = [] } = saved as Partial<Record<keyof SavedTape, unknown>>
  if (format !== FORMAT) throw invalid(`expected format ${FORMAT}, ${got(format)}`)
  if (typeof runId !== 'string' || runId === '')
    throw invalid(`runId must be the id of the recorded run, ${got(runId)}`)
  if (!Array.isArray(steps)) throw invalid(`steps must be a list, ${got(steps)}`)
  if (!Array.isArray(asked) || !asked.every((step) => typeof step === 'string')) {
    throw invalid(`asked must be a list of steps, ${got(asked)}`)
  }
  checkSteps(steps)
  return saved as SavedTape
}

function checkSteps(steps: readonly unknown[]): void {
  const names = new Set<string>()
  for (const [i, entry] of steps.entries()) {
    const { step, value } = Object(entry) as Partial<TapeStep>
    if (typeof step !== 'string' || step === '') throw invalid(`steps[${i}].step must be a name, ${got(step)}`)
    if (names.has(step)) throw invalid(`steps[${i}].step must be on the tape once, ${got(step)}`)
    const broken = notJson(value)
    if (broken !== undefined) throw invalid(`steps[${i}].value${broken} must be JSON, ${got(value)}`)
    names.add(step)
  }
}

function invalid(what: string): KernelError {
  return new KernelError('TAPE_INVALID', `tape: ${what}`)
}

/** The steps before the one with this name. Contract: throws `TAPE_INVALID` for a step that is not on the tape. */
export function stepsBefore(name: string, steps: readonly TapeStep[]): readonly TapeStep[] {
  const index = steps.findIndex(({ step }) => step === name)
  if (index >= 0) return steps.slice(0, index)
  throw invalid(`upTo must be one of its steps, ${steps.map(({ step }) => step).join(', ')}; ${got(name)}`)
}
