import type { Journal } from '../agent/journal.ts'
import { type Json, notJson } from '../data/json.ts'
import { type ErrorInfo, got, KernelError } from '../data/kernel-error.ts'
import type { RunCore } from './run-core.ts'

/** What a piece of work gave: a value, nothing, or an error; of an error without a code its message. */
type StepRecord = { readonly value?: Json } | { readonly error: ErrorInfo } | { readonly thrown: string }

/** Performs work under the journal of its run. Contract: an error is kept like a value, unless the whole run was stopped. */
export async function performStep<T extends Json | void>(
  journal: Journal,
  step: string,
  core: RunCore,
  signal: AbortSignal | undefined,
  work: () => Promise<T>,
): Promise<T> {
  let thrown: { readonly error: unknown } | undefined
  const record = await journal.perform<StepRecord>(step, async () => {
    try {
      return recordOf(step, await work())
    } catch (error) {
      if (core.rootAborted || KernelError.is(error, 'INTERRUPTED')) throw error
      thrown = { error }
      return errorRecord(core.abortState.errorWith(signal) ?? error)
    }
  })
  if (thrown) throw thrown.error
  if ('error' in record) throw KernelError.from(record.error)
  // Whoever catches it decides its code, as if it had been thrown now.
  if ('thrown' in record) throw new Error(record.thrown)
  return record.value as T
}

function recordOf(step: string, value: Json | void): StepRecord {
  if (value === undefined) return {}
  const broken = notJson(value)
  if (broken === undefined) return { value }
  throw new KernelError(
    'VALIDATION_FAILED',
    `perform: ${step} gave a value that is not plain JSON at ${broken || 'its root'}, ${got(value)}`,
  )
}

const NO_CODE = ''

function errorRecord(error: unknown): StepRecord {
  const info = KernelError.from(error, NO_CODE).toJSON()
  return info.code === NO_CODE ? { thrown: info.message } : { error: info }
}
