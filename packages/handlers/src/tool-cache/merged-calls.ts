import { KernelError, type RunContext, type ToolCallResult } from '@troupe/kernel'
import { untilAborted } from '@troupe/kernel/kit'
import { sharedResult } from './shared-result.ts'

type SharedOutcome = { readonly result: ToolCallResult } | { readonly aborted: boolean }

/** Merges equal calls that run at the same time. Contract: shares only a success, and only of a call without other effects; a caller stops waiting when its own run is aborted. */
export class MergedCalls {
  readonly #running = new Map<string, Promise<SharedOutcome>>()

  async call(key: string, ctx: RunContext, run: () => Promise<ToolCallResult>): Promise<ToolCallResult> {
    for (let other = this.#running.get(key); other; other = this.#running.get(key)) {
      const outcome = await unlessAborted(ctx.signal, other)
      if ('result' in outcome && !outcome.result.error) return outcome.result
      // After an abort one of the waiting calls runs for all; after a failure each runs its own, because waiting in line would be slow.
      if ('result' in outcome || !outcome.aborted) return run()
    }
    return this.#runShared(key, ctx, run)
  }

  async #runShared(key: string, ctx: RunContext, run: () => Promise<ToolCallResult>): Promise<ToolCallResult> {
    const { promise, resolve } = Promise.withResolvers<SharedOutcome>()
    this.#running.set(key, promise)
    const settle = (outcome: SharedOutcome) => {
      this.#running.delete(key)
      resolve(outcome)
    }
    try {
      // A tool that ignores the abort must not block the others.
      const result = await unlessAborted(ctx.signal, run())
      // Its actions and questions belong to this call alone, so the result is not shared.
      settle(ctx.acted ? { aborted: false } : { result: sharedResult(result) })
      return result
    } catch (error) {
      settle({ aborted: KernelError.is(error, 'ABORTED') })
      throw error
    }
  }
}

/** Contract: rejects with a `KernelError` on abort, whatever the reason of the signal is. */
function unlessAborted<T>(signal: AbortSignal, work: Promise<T>): Promise<T> {
  return untilAborted(signal, work).catch((error: unknown) => {
    throw signal.aborted && error === signal.reason ? KernelError.from(error, 'ABORTED') : error
  })
}
