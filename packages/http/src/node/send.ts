import { once } from 'node:events'
import type { ServerResponse } from 'node:http'

/** Sends a response. Contract: reads no more of it than the socket has room for; cancels it when the reader leaves. */
export async function send(response: Response, outgoing: ServerResponse, signal: AbortSignal): Promise<void> {
  if (signal.aborted) {
    await response.body?.cancel(signal.reason)
    return
  }
  outgoing.writeHead(response.status, Object.fromEntries(response.headers))
  if (!response.body) {
    outgoing.end()
    return
  }
  outgoing.flushHeaders()
  const reader = response.body.getReader()
  // Ends the wait for a socket that is full.
  const waiting = new AbortController()
  const leave = () => {
    waiting.abort(signal.reason)
    reader.cancel(signal.reason).catch(() => undefined)
  }
  signal.addEventListener('abort', leave)
  reader.closed.catch((error: unknown) => waiting.abort(error))
  try {
    for (;;) {
      const { value, done } = await reader.read()
      if (done) break
      if (!outgoing.write(value)) await once(outgoing, 'drain', { signal: waiting.signal })
      if (signal.aborted) return
    }
    outgoing.end()
  } catch {
    outgoing.destroy()
  } finally {
    signal.removeEventListener('abort', leave)
  }
}
