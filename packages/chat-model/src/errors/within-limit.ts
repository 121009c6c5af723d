import { type Awaitable, KernelError, type RunContext } from '@troupe/kernel'
import { abortScope } from '@troupe/kernel/kit'

/**
 * Runs work under a time limit.
 * Contract: at the limit the work's signal aborts; the promise rejects with `TIMEOUT` as soon as the work has ended, and
 * after `graceMs` at the latest, even if the work ignores its signal.
 */
export async function withinLimit<T>(
  ctx: RunContext,
  ms: number,
  who: string,
  work: (ctx: RunContext) => Awaitable<T>,
  graceMs = 0,
): Promise<T> {
  // Not `using`: its polyfill for Node 22 is larger than this file.
  const scope = abortScope(ctx.signal)
  const { promise: late, reject } = Promise.withResolvers<never>()
  let timeout: KernelError | undefined
  let cancel = ctx.clock.after(ms, () => {
    const error = new KernelError('TIMEOUT', `${who}: not done within ${ms} ms`, { retryable: true })
    timeout = error
    scope.abort(error)
    if (graceMs === 0) reject(error)
    else cancel = ctx.clock.after(graceMs, () => reject(error))
  })
  try {
    return await Promise.race([work(ctx.derive({ signal: scope.signal })), late])
  } catch (error) {
    throw timeout ?? error
  } finally {
    cancel()
    scope[Symbol.dispose]()
  }
}
