import { WholeFrames } from './whole-frames.ts'

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

  const stitched = (response: Response, reading: Reading): Response => {
    const frames = new WholeFrames()
    const text = new TextEncoder()
    let reader = response.body?.getReader()
    let failures = 0
    const again = async () => {
      reader?.cancel().catch(() => undefined)
      frames.reset()
      reading.runId ??= frames.lastId?.slice(0, frames.lastId.lastIndexOf(':'))
      const seq = Number(frames.lastId?.slice(frames.lastId.lastIndexOf(':') + 1) ?? 0)
      const next = await reach(
        () => follow(reading, seq),
        reading.init.signal,
        (status) => status >= 500,
      )
      if (!next.ok) throw new Error(`The run can no longer be followed: HTTP ${next.status}`)
      reader = next.body?.getReader()
    }
    const done = () => {
      if (current.get(reading.threadId) === reading) current.delete(reading.threadId)
    }
    const body = new ReadableStream<Uint8Array>(
      {
        async pull(controller) {
          try {
            for (;;) {
              let chunk: { value?: Uint8Array | undefined; done: boolean } | undefined
              try {
                chunk = await reader?.read()
              } catch (error) {
                if (reading.init.signal?.aborted || failures++ >= attempts) throw error
              }
              const whole = chunk?.value ? frames.push(chunk.value) : ''
              if (whole !== '') {
                failures = 0
                reading.runId ??= frames.lastId?.slice(0, frames.lastId.lastIndexOf(':'))
                return controller.enqueue(text.encode(whole))
              }
              if (chunk && !chunk.done) continue
              // Without an id there is no run to reconnect to: the stream is complete.
              if (frames.ended || (chunk?.done && reading.runId === undefined)) {
                done()
                return controller.close()
              }
              if (chunk?.done && failures++ >= attempts) throw new Error('The stream ended before its run.')
              await again()
            }
          } catch (error) {
            done()
            if (reading.init.signal?.aborted) return controller.error(error)
            // Sent as an event, not thrown: the official client leaves the error of a body unhandled, which ends a Node process.
            controller.enqueue(text.encode(`data: ${JSON.stringify(LOST)}\n\n`))
            controller.close()
          }
        },
        cancel(reason) {
          done()
          return reader?.cancel(reason)
        },
      },
      { highWaterMark: 0 },
    )
    const { status, statusText, headers } = response
    return new Response(body, { status, statusText, headers })
  }

  const resumable: Fetch = async (url, init = {}) => {
    const reading = readingOf(url, init)
    if (!reading) return send(url, init)
    current.set(reading.threadId, reading)
    const response = await (init.method === 'POST' ? start(url, reading) : reach(() => send(url, init), init.signal))
    const type = response.headers.get('content-type') ?? ''
    if (response.ok && type.startsWith('text/event-stream')) return stitched(response, reading)
    if (current.get(reading.threadId) === reading) current.delete(reading.threadId)
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

const LOST = {
  type: 'RUN_ERROR',
  code: 'CONNECTION_LOST',
  message: 'The connection was lost. The run may still be active.',
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
  const { threadId, runId, protocolVersion } = inputOf(init.body)
  if (typeof threadId !== 'string' || typeof runId !== 'string') return undefined
  const runs = `${url.replace(/\/?(\?.*)?$/, '')}/threads/${encodeURIComponent(threadId)}/runs/`
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
