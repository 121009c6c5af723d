import type { Engine, RunOrder } from '@troupe/durable'
import { type Clock, KernelError, type ThreadRef } from '@troupe/kernel'
import { serviceName } from './service-name.ts'

/** How long a request to Restate may take. */
const REQUEST_MS = 10_000

/** How Restate's ingress is reached. */
export interface IngressOptions {
  /** The address of the ingress: `http://restate:8080`. */
  readonly url: string
  /** Sent with each request, for an ingress that asks who it is. */
  readonly headers?: { readonly [name: string]: string }
  /** @default the global one */
  readonly fetch?: typeof fetch
}

/** Restate as the engine of those who order runs. */
export function ingress({ url, headers = {}, fetch: send = fetch }: IngressOptions, clock: Clock): Engine {
  const base = url.endsWith('/') ? url.slice(0, -1) : url

  const request = async (path: string, init: RequestInit = {}): Promise<Response> => {
    const limit = new AbortController()
    const cancelTimer = clock.after(REQUEST_MS, () => limit.abort())
    try {
      return await send(`${base}${path}`, {
        ...init,
        headers: { ...headers, ...(init.headers as Record<string, string> | undefined) },
        signal: limit.signal,
      })
    } catch (cause) {
      throw new KernelError('ENGINE_UNAVAILABLE', `restate: the ingress at ${base} cannot be reached`, {
        cause,
        retryable: true,
      })
    } finally {
      cancelTimer()
    }
  }

  const post = async (path: string, body: unknown, more: Record<string, string> = {}): Promise<void> => {
    const response = await request(path, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...more },
      body: JSON.stringify(body),
    })
    const text = await response.text()
    if (response.ok) return
    const passes = response.status >= 500 || response.status === 429
    throw new KernelError(
      passes ? 'ENGINE_UNAVAILABLE' : 'CONFIG_INVALID',
      `restate: the ingress refused ${path} with ${response.status}, got ${text.slice(0, 200)}${hint(response.status)}`,
      { retryable: passes },
    )
  }

  return {
    submit: (order) => post(`${objectOf(order)}/run/send`, order, { 'idempotency-key': order.runId }),
    cancel: (order, mode) => post(`${objectOf(order)}/cancel/send`, { runId: order.runId, mode }),
    async carries(order) {
      const key = encodeURIComponent(order.runId)
      const response = await request(`/restate/invocation${objectOf(order)}/run/${key}/output`)
      await response.body?.cancel()
      // Not ready.
      return response.status === 470
    },
  }
}

/** The object of a thread. Contract: owner and thread are in its key, so that nobody reaches another owner's run by its id. */
function objectOf({ agent, ref }: Pick<RunOrder, 'agent' | 'ref'>): string {
  return `/${serviceName('restate', agent)}/${encodeURIComponent(keyOf(ref))}`
}

function keyOf({ app, user, threadId }: ThreadRef): string {
  return JSON.stringify([app, user, threadId])
}

function hint(status: number): string {
  return status === 404 ? '; register the workers of this agent first' : ''
}
