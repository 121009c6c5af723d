/** Headers for each request, for example a bearer token: as they are, or as they are now. */
export type AccessHeaders =
  | Readonly<Record<string, string>>
  | (() => Readonly<Record<string, string>> | Promise<Readonly<Record<string, string>>>)

/** How requests reach the server. */
export interface Access {
  /** The address of the agent, which is the `path` of `agUiHandler`. */
  readonly url: string
  /** Contract: a function is called for each request, so a token may expire. @default none */
  readonly headers?: AccessHeaders | undefined
  /** @default the global `fetch` */
  readonly fetch?: ((url: string, init?: RequestInit) => Promise<Response>) | undefined
}

/** Sends a request with the headers of the app. */
export type Send = (url: string, init?: RequestInit) => Promise<Response>

/** Makes the function that sends requests. Contract: the settings are read for each request. */
export function sender(access: () => Pick<Access, 'headers' | 'fetch'>): Send {
  return async (url, init = {}) => {
    const { headers: given, fetch: send = (to, how) => fetch(to, how) } = access()
    if (given === undefined) return send(url, init)
    const headers = new Headers(init.headers)
    for (const [name, value] of Object.entries(typeof given === 'function' ? await given() : given)) {
      headers.set(name, value)
    }
    return send(url, { ...init, headers })
  }
}

/** The address of a thread, or of something below it. */
export function threadUrl(url: string, threadId: string, ...below: readonly string[]): string {
  const [base = ''] = url.split('?')
  const path = ['threads', threadId, ...below].map(encodeURIComponent).join('/')
  return `${base.endsWith('/') ? base.slice(0, -1) : base}/${path}`
}

/** Reads an answer as JSON. Contract: another status than 2xx is an error that `failureOf` reads. */
export async function jsonOf<T>(response: Response): Promise<T> {
  if (!response.ok) throw new Error(`HTTP ${response.status}: ${await response.text()}`)
  return response.json() as Promise<T>
}
