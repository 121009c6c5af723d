import type { RequestListener } from 'node:http'
import { nodeListener } from '@troupe/http/node'
import { checkOption } from '@troupe/kernel/kit'
import type { AgUiHandler } from './ag-ui-handler.ts'
import { refuse } from './refuse.ts'

/**
 * Serves a handler with node:http.
 * Contract: a handler without `authenticate` answers requests from this machine only.
 * @example createServer(toNodeListener(handler)).listen(8000, '127.0.0.1')
 */
export function toNodeListener(handler: AgUiHandler): RequestListener {
  checkServed('toNodeListener', handler)
  return nodeListener(handler, (error) => refuse(error, crypto.randomUUID()))
}

/** Contract: throws `CONFIG_INVALID` for an agent, a runner or anything else that is not a handler. */
export function checkServed(who: string, handler: AgUiHandler): void {
  checkOption(typeof handler === 'function', who, 'expected the handler that agUiHandler({ … }) makes', handler)
}
