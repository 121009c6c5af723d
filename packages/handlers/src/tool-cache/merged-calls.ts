import { KernelError, type RunContext, type ToolCallResult } from '@troupe/kernel'

type Outcome = { readonly result: ToolCallResult } | { readonly aborted: boolean }

/** Makes one call of equal ones at the same time. Contract: only a success is shared, and only of a call that did nothing but answer; a caller leaves when its own run is aborted. */
export class MergedCalls {
  readonly #running = new Map<string, Promise<Outcome>>()

  async call(key: string, ctx: RunContext, run: () => Promise<ToolCallResult>): Promise<ToolCallResult> {
    for (let other = this.#running.get(key); other; other = this.#running.get(key)) {
      const outcome = await unlessAborted(ctx.signal, other)
      if ('result' in outcome && !outcome.result.error) return outcome.result
      // After an abort one of those who waited runs for all; what failed otherwise may fail for all, so nobody waits in line.
      if ('result' in outcome || !outcome.aborted) return run()
    }
    return this.#lead(key, ctx, run)
  }

  async #lead(key: string, ctx: RunContext, run: () => Promise<ToolCallResult>): Promise<ToolCallResult> {
    const { promise, resolve } = Promise.withResolvers<Outcome>()
    this.#running.set(key, promise)
    const settle = (outcome: Outcome) => {
      this.#running.delete(key)
      resolve(outcome)
    }
    try {
      // A tool that does not hear the abort must not hold the others.
      const result = await unlessAborted(ctx.signal, run())
      // What it did beyond its result it did for itself alone.
      settle(ctx.acted ? { aborted: false } : { result })
      return result
    } catch (error) {
      settle({ aborted: KernelError.is(error, 'ABORTED') })
      throw error
    }
  }
}

function unlessAborted<T>(signal: AbortSignal, work: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const stop = () => reject(KernelError.from(signal.reason, 'ABORTED'))
    if (signal.aborted) return stop()
    signal.addEventListener('abort', stop)
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', stop))
  })
}
