import {
  HttpAgent,
  type HttpAgentConfig,
  type RunAgentInput,
  runHttpRequest,
  transformHttpEventStream,
} from '@ag-ui/client'
import { baseUrl } from './base-url.ts'
import { type ResumableFetch, type ResumableFetchOptions, resumableFetch } from './resumable-fetch.ts'

/** The options of an `HttpAgent`, and of reconnecting. */
export interface ResumableHttpAgentConfig extends HttpAgentConfig {
  readonly reconnect?: Omit<ResumableFetchOptions, 'fetch'>
}

/**
 * The official HttpAgent for a server made with `agUiHandler`: it reconnects after a lost connection, a reloaded page joins
 * the active run (`connectAgent`), and `abortRun` stops the run on the server too.
 * @example const agent = new ResumableHttpAgent({ url: '/agent', threadId })
 */
export class ResumableHttpAgent extends HttpAgent {
  constructor({ reconnect, ...config }: ResumableHttpAgentConfig) {
    const { fetch } = config
    super({
      ...config,
      fetch: resumableFetch(fetch ? { ...reconnect, fetch: (url, init = {}) => fetch(url, init) } : reconnect),
    })
  }

  /** Ends the connection and the run. To leave the run alone, use `detachActiveRun`. */
  override abortRun(): void {
    // A clone is made without the constructor and has only what the official class copies: the fetch.
    void (this.fetch as ResumableFetch).stop?.(this.threadId)
    super.abortRun()
  }

  protected override connect(input: RunAgentInput): ReturnType<HttpAgent['run']> {
    if (this.abortController.signal.aborted) this.abortController = new AbortController()
    const version = new URLSearchParams({ protocolVersion: input.protocolVersion ?? '' })
    const url = `${baseUrl(this.url)}/threads/${encodeURIComponent(input.threadId)}/connect?${version}`
    const init: RequestInit = {
      method: 'GET',
      headers: { ...this.headers, Accept: 'text/event-stream' },
      signal: this.abortController.signal,
    }
    const joined = runHttpRequest(async () => {
      const response = await this.fetch(url, init)
      // A conversation that has not begun.
      return response.status === 404 ? new Response('', { headers: { 'content-type': 'text/event-stream' } }) : response
    })
    return transformHttpEventStream(joined, this.debugLogger)
  }
}
