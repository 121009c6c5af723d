import type { AgentNode, History, TokensByMessage } from '@troupe/react'

/** The model, the store and the agents behind the page. */
export interface About {
  readonly model: string
  readonly demo: boolean
  readonly store: string
  readonly tree: AgentNode
  /** Agents that are called as tools. */
  readonly tools: readonly { readonly name: string; readonly description: string }[]
  /** The address of a trace, with `{traceId}` in it. */
  readonly traceUrl?: string
}

/** The permission to call a tool without a question, in one conversation or in all. */
export interface Grant {
  readonly id: string
  /** Empty for the agents that people talk to. */
  readonly agent: string
  readonly tool: string
  readonly threadId?: string
  readonly at: number
}

const at = (threadId: string, what: string) => `/api/threads/${encodeURIComponent(threadId)}/${what}`

async function get<T>(url: string): Promise<T> {
  const response = await fetch(url)
  if (!response.ok) throw new Error(`The server answered ${response.status}.`)
  return response.json() as Promise<T>
}

export const getAbout = (): Promise<About> => get('/api/about')
export const getHistory = (threadId: string): Promise<History> => get(at(threadId, 'history'))
export const getGrants = (): Promise<readonly Grant[]> => get('/api/grants')
export const getTokens = (threadId: string): Promise<TokensByMessage> => get(at(threadId, 'tokens'))

/** Saves the state between runs. Contract: tries again while the thread is busy; if it cannot be saved, the next run sends it. */
export async function putState(threadId: string, state: object): Promise<void> {
  for (const pauseMs of [0, 200, 800]) {
    await pause(pauseMs)
    const init = { method: 'PUT', body: JSON.stringify(state) }
    const response = await fetch(at(threadId, 'state'), init).catch(() => undefined)
    if (response?.status !== 409) return
  }
}

/** Takes a permission back. Contract: one that is gone already counts as taken back. */
export async function revokeGrant(id: string): Promise<void> {
  const response = await fetch(`/api/grants/${encodeURIComponent(id)}`, { method: 'DELETE' })
  if (!response.ok && response.status !== 404) throw new Error(`The server answered ${response.status}.`)
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}
