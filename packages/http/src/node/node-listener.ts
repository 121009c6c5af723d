import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import { type Awaitable, KernelError } from '@troupe/kernel'
import { isLocalHost } from '../local-host.ts'
import { hostOf, requestOf } from './request-of.ts'
import { send } from './send.ts'

/** A fetch-style handler that can be served with node:http. */
export interface HttpHandler {
  (request: Request): Awaitable<Response>
  /** Whether it authenticates requests; if not, it is served to this machine only. */
  readonly authenticates: boolean
}

/**
 * Serves a handler with node:http; `refuse` writes the answer to a request that does not reach it.
 * Contract: a handler that does not authenticate answers requests from this machine under its own names only, which blocks DNS rebinding.
 */
export function nodeListener(handler: HttpHandler, refuse: (error: KernelError) => Response): RequestListener {
  return (incoming, outgoing) => {
    serve(handler, refuse, incoming, outgoing).catch(() => outgoing.destroy())
  }
}

async function serve(
  handler: HttpHandler,
  refuse: (error: KernelError) => Response,
  incoming: IncomingMessage,
  outgoing: ServerResponse,
): Promise<void> {
  const controller = new AbortController()
  const { signal } = controller
  const gone = () => {
    if (!outgoing.writableFinished) controller.abort(new KernelError('ABORTED', 'http: the connection was closed'))
  }
  outgoing.on('close', gone)
  // Without a listener a broken connection would end the process.
  outgoing.on('error', gone)
  try {
    const request = admitted(handler, incoming, signal)
    await send(await (request instanceof KernelError ? refuse(request) : handler(request)), outgoing, signal)
  } finally {
    outgoing.off('close', gone)
  }
}

/** The request, or why it does not reach the handler. */
function admitted(
  { authenticates }: HttpHandler,
  incoming: IncomingMessage,
  signal: AbortSignal,
): Request | KernelError {
  if (!authenticates && !isLocal(incoming)) {
    return new KernelError('FORBIDDEN', 'This server answers requests from its own machine only.')
  }
  try {
    return requestOf(incoming, signal)
  } catch {
    return new KernelError('METHOD_NOT_ALLOWED', 'This method is not supported.')
  }
}

const LOOPBACK = /^(127\.|::1$|::ffff:127\.)/

function isLocal({ socket, headers }: IncomingMessage): boolean {
  return LOOPBACK.test(socket.remoteAddress ?? '') && isLocalHost(hostOf(headers))
}
