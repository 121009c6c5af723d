import { KernelError, type RunContext } from '@troupe/kernel'
import { type HookName, isPromise } from '@troupe/kernel/kit'
import { isHandlerError, isModelError, markHandlerError } from '../errors/error-origin.ts'
import { isStop } from '../errors/is-stop.ts'

/** Calls a hook. Contract: an error that it throws, now or later, names handler and hook. */
export function callHook<T>(ctx: RunContext, name: string, hook: HookName, call: () => T): T {
  try {
    const returned = call()
    if (!isPromise(returned)) return returned
    return returned.then(undefined, (error: unknown) => {
      throw handlerError(ctx, name, hook, error)
    }) as T
  } catch (error) {
    throw handlerError(ctx, name, hook, error)
  }
}

/** The error of a hook that returned something else than expected. */
export function invalidReturn(name: string, hook: HookName, expected: string): KernelError {
  return namedError(name, hook, new Error(`expected ${expected}`))
}

/** Makes the run's error of what a hook threw. Contract: aborts, interrupts, timeouts and errors of the model or of another handler stay as they are. */
export function handlerError(ctx: RunContext, handler: string, hook: HookName, cause: unknown): KernelError {
  if (!KernelError.is(cause)) return namedError(handler, hook, cause)
  const passes = cause.code === 'TIMEOUT' || isHandlerError(cause) || isModelError(cause) || isStop(cause, ctx)
  return passes ? cause : namedError(handler, hook, cause)
}

/** Adds handler and hook to an error. Contract: an error with a code of its own keeps it. */
function namedError(handler: string, hook: HookName, cause: unknown): KernelError {
  const prefix = `handler ${handler}: ${hook} failed, `
  return markHandlerError(KernelError.within(prefix, cause, 'HANDLER_FAILED', { handler, hook }))
}
