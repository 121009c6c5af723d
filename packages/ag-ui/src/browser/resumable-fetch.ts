import { baseUrl } from './base-url.ts'
import { continuedBody } from './continued-body.ts'

type Fetch = (url: string, init?: RequestInit) => Promise<Response>

/** The options of a resumable fetch. */
export interface ResumableFetchOptions {
  /** @default the global `fetch` */
  readonly fetch?: Fetch
  /** How often in a row a connection may fail before the stream does. @default 8 */
  readonly attempts?: number
  /** The pause before an attempt, counted from 0. @default none, then 250 ms doubling up to 8 s */
  readonly pauseMs?: (attempt: number) => number
}

/** A `fetch` for agents served by `agUiHandler`. */
export interface ResumableFetch extends Fetch {
  /** Cancels the run that this fetch reads in a thread; the next run of the thread waits for it. */
  stop(threadId: string): Promise<void>
}

/** The run that is being read. */
interface Reading {
  /** The URL of the thread's runs: `…/threads/<id>/runs/`. */
  readonly runs: string
  readonly threadId: string
  readonly protocolVersion: string
  readonly init: RequestInit
  runId: string | undefined
}

/**
 * A fetch whose event streams survive a lost connection: it reconnects and continues after the last whole event.
 * Contract: the reader of the body sees every event once; aborting works as in any fetch; if the server stays unreachable, the stream ends with a
 * RUN_ERROR `CONNECTION_LOST`.
 * @example new HttpAgent({ url, fetch: resumableFetch() })
 */
export function resumableFetch(options: ResumableFetchOptions = {}): ResumableFetch {
  const { fetch: send = (url, init) => fetch(url, init), attempts = 8, pauseMs = pause } = options
  const current = new Map<string, Reading>()
  const stopping = new Map<string, Promise<unknown>>()

  /** Connects with retries. Contract: returns the first response; retries a refusal only if its status is temporary. */
  const reach = async (
    connect: () => Promise<Response>,
    signal: AbortSignal | null | undefined,
    isTemporary: (status: number) => boolean = () => false,
  ): Promise<Response> => {
    for (let attempt = 0; ; attempt++) {
      await wait(pauseMs(attempt), signal)
      try {
        const response = await connect()
        if (!isTemporary(response.status) || attempt + 1 >= attempts) return response
      } catch (error) {
        if (signal?.aborted || attempt + 1 >= attempts) throw error
      }
    }
  }

  const follow = ({ runs, runId = '', protocolVersion, init }: Reading, after: number): Promise<Response> => {
    const query = new URLSearchParams({ after: String(after), protocolVersion })
    const headers = new Headers(init.headers)
    headers.delete('content-type')
    headers.set('accept', 'text/event-stream')
    const url = `${runs}${encodeURIComponent(runId)}?${query}`
    return send(url, { ...init, method: 'GET', body: null, headers })
  }

  /** Starts a run once, even if it is unknown whether the first request arrived. */
  const start = async (url: string, reading: Reading): Promise<Response> => {
    const { init } = reading
    await stopping.get(reading.threadId)
    let sent = 0
    return reach(async () => {
      if (sent++ === 0) return send(url, init)
      const there = await follow(reading, 0)
      if (there.status !== 404) return there
      const again = await send(url, init)
      if (again.status !== 409) return again
      // The first request arrived after the run was looked for.
      const late = await follow(reading, 0)
      return late.ok ? late : again
    }, init.signal)
  }

  /** A response whose body continues over new connections. */
  const continued = (response: Response, reading: Reading): Response => {
    const { signal } = reading.init
    const body = continuedBody({
      run: reading,
      body: response.body,
      signal,
      attempts,
      reconnect: (after) =>
        reach(
          () => follow(reading, after),
          signal,
          (status) => status >= 500,
        ),
      onEnd: () => forget(reading),
    })
    const { status, statusText, headers } = response
    return new Response(body, { status, statusText, headers })
  }

  const forget = (reading: Reading): void => {
    if (current.get(reading.threadId) === reading) current.delete(reading.threadId)
  }

  const resumable: Fetch = async (url, init = {}) => {
    const reading = readingOf(url, init)
    if (!reading) return send(url, init)
    current.set(reading.threadId, reading)
    const response = await (init.method === 'POST' ? start(url, reading) : reach(() => send(url, init), init.signal))
    const type = response.headers.get('content-type') ?? ''
    if (response.ok && type.startsWith('text/event-stream')) return continued(response, reading)
    forget(reading)
    return response
  }

  return Object.assign(resumable, {
    async stop(threadId: string) {
      const reading = current.get(threadId)
      if (reading?.runId === undefined) return
      const headers = new Headers(reading.init.headers)
      headers.delete('content-type')
      const url = `${reading.runs}${encodeURIComponent(reading.runId)}/cancel`
      const ask = () => send(url, { method: 'POST', headers, keepalive: true }).then(({ status }) => status)
      // A stop right after the start may arrive before the run exists.
      const asked = (async () => {
        for (const ms of [0, 100, 500]) {
          await wait(ms, undefined)
          if ((await ask()) !== 404) return
        }
      })().catch(() => undefined)
      stopping.set(threadId, asked)
      await asked
      if (stopping.get(threadId) === asked) stopping.delete(threadId)
    },
  })
}

/** The run that a request to an agent reads; undefined for any other request. */
function readingOf(url: string, init: RequestInit): Reading | undefined {
  const joined = /^([^?]*\/threads\/([^/?]+))\/connect(?:\?(.*))?$/.exec(url)
  if (joined?.[1] !== undefined && joined[2] !== undefined && init.method !== 'POST') {
    const protocolVersion = new URLSearchParams(joined[3]).get('protocolVersion') ?? ''
    return {
      runs: `${joined[1]}/runs/`,
      threadId: decodeURIComponent(joined[2]),
      protocolVersion,
      init,
      runId: undefined,
    }
  }
  if (init.method !== 'POST' || typeof init.body !== 'string') return undefined
  const {
    threadId,
    runId,
    protocolVersion = new URLSearchParams(url.split('?')[1]).get('protocolVersion'),
  } = inputOf(init.body)
  if (typeof threadId !== 'string' || typeof runId !== 'string') return undefined
  const runs = `${baseUrl(url)}/threads/${encodeURIComponent(threadId)}/runs/`
  return { runs, threadId, runId, protocolVersion: typeof protocolVersion === 'string' ? protocolVersion : '', init }
}

function inputOf(body: string): Record<string, unknown> {
  try {
    return (JSON.parse(body) ?? {}) as Record<string, unknown>
  } catch {
    return {}
  }
}

function pause(attempt: number): number {
  return attempt === 0 ? 0 : Math.min(8_000, 250 * 2 ** (attempt - 1))
}

function wait(ms: number, signal: AbortSignal | null | undefined): Promise<void> {
  if (ms <= 0) return Promise.resolve()
  return new Promise((resolve, reject) => {
    const stop = () => {
      clearTimeout(timer)
      reject(signal?.reason)
    }
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', stop)
      resolve()
    }, ms)
    signal?.addEventListener('abort', stop, { once: true })
  })
}
