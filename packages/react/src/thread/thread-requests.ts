import { jsonOf, type Send, threadUrl } from '../request/access.ts'

/** A thread as the server tells about it. */
export interface ThreadInfo {
  readonly title?: string
  readonly updatedAt: number
  /** The run that is active. */
  readonly runId?: string
}

/** The requests of one thread beside those of the AG-UI client. */
export class ThreadRequests {
  readonly #send: Send
  readonly #url: (...below: string[]) => string

  constructor(send: Send, url: string, threadId: string) {
    this.#send = send
    this.#url = (...below) => threadUrl(url, threadId, ...below)
  }

  /** What the server knows of the thread; undefined for a new one. */
  async info(): Promise<ThreadInfo | undefined> {
    const response = await this.#send(`${this.#url()}?optional`)
    return response.status === 204 || response.status === 404 ? undefined : jsonOf(response)
  }

  async setTitle(title: string): Promise<void> {
    const headers = { 'content-type': 'application/json' }
    await this.#send(this.#url(), { method: 'PATCH', headers, body: JSON.stringify({ title }) })
  }

  /** Goes on with a run whose server was killed; its events arrive when the thread is joined. */
  async continueRun(runId: string): Promise<void> {
    await this.#send(this.#url('runs', runId, 'continue'), { method: 'POST' })
  }

  /** Cancels a run, whose end arrives as an event. Contract: waits for a run that was only just requested; false if it cannot be cancelled. */
  async cancelRun(runId: string): Promise<boolean> {
    for (const pauseMs of [0, 100, 300, 900]) {
      await pause(pauseMs)
      const response = await this.#send(this.#url('runs', runId, 'cancel'), { method: 'POST' }).catch(() => undefined)
      if (response?.ok) return true
      if (response?.status !== 404) return false
    }
    return false
  }
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}
