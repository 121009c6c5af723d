import type { Journal } from '../agent/journal.ts'
import type { RunContext } from '../context/context.ts'
import { type Json, notJson } from '../data/json.ts'
import { type ErrorInfo, got, KernelError } from '../data/kernel-error.ts'

/** What a piece of work gave: a value, nothing, or an error. */
type StepRecord = { readonly value?: Json } | { readonly error: ErrorInfo }

/** Performs work under the journal of its run. Contract: an error is kept like a value, unless the run was stopped. */
export async function performStep<T extends Json | void>(
  journal: Journal,
  step: string,
  ctx: RunContext,
  work: () => Promise<T>,
): Promise<T> {
  let thrown: { readonly error: unknown } | undefined
  const record = await journal.perform<StepRecord>(step, async () => {
    try {
      const value: Json | void = await work()
      const broken = value === undefined ? undefined : notJson(value)
      if (broken === undefined) return value === undefined ? {} : { value: value as Json }
      throw new KernelError(
        'VALIDATION_FAILED',
        `perform: ${step} gave a value that is not plain JSON at ${broken || 'its root'}, ${got(value)}`,
      )
    } catch (error) {
      if (ctx.signal.aborted || KernelError.is(error, 'INTERRUPTED')) throw error
      thrown = { error }
      return { error: KernelError.from(error).toJSON() }
    }
  })
  if ('error' in record) throw thrown ? thrown.error : KernelError.from(record.error)
  return record.value as T
}
