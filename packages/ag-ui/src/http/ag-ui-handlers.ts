import { checkOption } from '@troupe/kernel/kit'
import type { AgUiHandler } from './ag-ui-handler.ts'
import { refuse } from './refuse.ts'
import { isBelow } from './route.ts'

/**
 * Serves several agents as one handler, each below its own `path`.
 * Contract: the handler with the longest path that fits gets a request; stopping it stops all of them.
 * @example const all = agUiHandlers([handler, agUiHandler({ runner: runner({ agent, store }), store, path: '/cook' })])
 */
export function agUiHandlers(handlers: readonly AgUiHandler[]): AgUiHandler {
  const fine = Array.isArray(handlers) && handlers.length > 0 && handlers.every((one) => typeof one === 'function')
  checkOption(fine, 'agUiHandlers', 'expected a list of handlers that agUiHandler({ … }) makes', handlers)
  const mounts = handlers.map((handler) => ({ handler, path: handler.path ?? '/' }))
  const byLength = [...mounts].sort((a, b) => b.path.length - a.path.length)
  const paths = new Set(mounts.map(({ path }) => path))
  checkOption(paths.size === handlers.length, 'agUiHandlers', 'each handler needs a path of its own', [...paths])
  const handle = async (request: Request, context?: unknown): Promise<Response> => {
    const { pathname } = new URL(request.url)
    const found = byLength.find(({ path }) => isBelow(path, pathname))
    return found
      ? found.handler(request, context)
      : refuse({ code: 'NOT_FOUND', message: 'Not found.' }, crypto.randomUUID())
  }
  const stop = async (graceMs?: number) => {
    await Promise.all(handlers.map((handler) => handler.stop(graceMs)))
  }
  return Object.assign(handle, {
    routes: handlers.flatMap(({ routes }) => routes),
    authenticates: handlers.every(({ authenticates }) => authenticates),
    stop,
    [Symbol.asyncDispose]: () => stop(),
  })
}
