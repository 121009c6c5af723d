/** A child of an abort signal. Contract: linked by hand, so dispose it (`using`) or it leaks a listener. */
export interface AbortScope extends Disposable {
  readonly signal: AbortSignal
  abort(reason: unknown): void
}

/**
 * Opens a child abort scope; `AbortSignal.any` and `.timeout` are banned.
 * @example using scope = abortScope(ctx.signal)
 */
export function abortScope(parent: AbortSignal): AbortScope {
  const controller = new AbortController()
  const follow = () => controller.abort(parent.reason)
  if (parent.aborted) follow()
  else parent.addEventListener('abort', follow)
  return {
    signal: controller.signal,
    abort: (reason) => controller.abort(reason),
    [Symbol.dispose]: () => parent.removeEventListener('abort', follow),
  }
}
