import { abortScope, KernelError, type RunContext } from '@troupe/kernel'

/**
 * Does work under a limit of time.
 * Contract: when it is over, the work's signal aborts and the promise rejects with `TIMEOUT`, whether or not the work listens.
 */
export function withinLimit<T>(
  ctx: RunContext,
  ms: number | undefined,
  who: string,
  work: (ctx: RunContext) => Promise<T>,
): Promise<T> {
  return ms === undefined ? work(ctx) : limited(ctx, ms, who, work)
}

async function limited<T>(ctx: RunContext, ms: number, who: string, work: (ctx: RunContext) => Promise<T>): Promise<T> {
  using scope = abortScope(ctx.signal)
  const { promise: late, reject } = Promise.withResolvers<never>()
  const cancel = ctx.clock.after(ms, () => {
    const error = new KernelError('TIMEOUT', `${who}: not done within ${ms} ms`, { retryable: true })
    scope.abort(error)
    reject(error)
  })
  try {
    return await Promise.race([work(ctx.derive({ signal: scope.signal })), late])
  } finally {
    cancel()
  }
}
