import type { BaseEvent, Message } from '@ag-ui/client'

/** An agent and the agents that it can transfer to. */
export interface AgentNode {
  readonly name: string
  readonly description: string
  readonly subAgents?: readonly AgentNode[]
  readonly toParent?: string
}

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

/** A conversation in the list. */
export interface ThreadSummary {
  readonly threadId: string
  readonly title: string
  readonly updatedAt: number
  readonly running: boolean
  /** Whether the server was killed during its run. */
  readonly brokeOff: boolean
  readonly waiting: boolean
}

/** A past run as it was shown. */
export interface PastRun {
  readonly runId: string
  readonly userMessages: readonly { readonly id: string; readonly text: string }[]
  readonly results: readonly { readonly toolCallId: string; readonly text: string }[]
  readonly events: readonly BaseEvent[]
  readonly messages: readonly Message[]
}

/** A conversation as it was shown, and the id of its active run. */
export interface History {
  readonly running?: string
  readonly runs: readonly PastRun[]
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

export type Tokens = Readonly<
  Record<string, { readonly input: number; readonly output: number; readonly cost?: number }>
>

const at = (threadId: string, what: string) => `/api/threads/${encodeURIComponent(threadId)}/${what}`

async function get<T>(url: string): Promise<T> {
  const response = await fetch(url)
  if (!response.ok) throw new Error(`The server answered ${response.status}.`)
  return response.json() as Promise<T>
}

export const getAbout = (): Promise<About> => get('/api/about')
export const getThreads = (limit: number): Promise<readonly ThreadSummary[]> => get(`/api/threads?limit=${limit}`)
export const getHistory = (threadId: string): Promise<History> => get(at(threadId, 'history'))
export const getGrants = (): Promise<readonly Grant[]> => get('/api/grants')
export const getTokens = (threadId: string): Promise<Tokens> => get(at(threadId, 'tokens'))

/** Saves the state between runs. Contract: tries again while the thread is busy; if it cannot be saved, the next run sends it. */
export async function putState(threadId: string, state: object): Promise<void> {
  for (const pauseMs of [0, 200, 800]) {
    await pause(pauseMs)
    const init = { method: 'PUT', body: JSON.stringify(state) }
    const response = await fetch(at(threadId, 'state'), init).catch(() => undefined)
    if (response?.status !== 409) return
  }
}

const runAt = (threadId: string, runId: string, what: string) =>
  `/agent/threads/${encodeURIComponent(threadId)}/runs/${encodeURIComponent(runId)}/${what}`

/** Goes on with a run whose server was killed; its events arrive for whoever joins the conversation. */
export async function continueRun(threadId: string, runId: string): Promise<void> {
  await fetch(runAt(threadId, runId, 'continue'), { method: 'POST' })
}

/** Cancels a run, whose end arrives as an event. Contract: waits for a run that was only just requested; false if it cannot be cancelled. */
export async function cancelRun(threadId: string, runId: string): Promise<boolean> {
  const url = runAt(threadId, runId, 'cancel')
  for (const pauseMs of [0, 100, 300, 900]) {
    await pause(pauseMs)
    const response = await fetch(url, { method: 'POST' }).catch(() => undefined)
    if (response?.ok) return true
    if (response?.status !== 404) return false
  }
  return false
}

export async function deleteThread(threadId: string): Promise<boolean> {
  const url = `/agent/threads/${encodeURIComponent(threadId)}`
  return (await fetch(url, { method: 'DELETE' }).catch(() => undefined))?.ok ?? false
}

/** Takes a permission back. Contract: one that is gone already counts as taken back. */
export async function revokeGrant(id: string): Promise<void> {
  const response = await fetch(`/api/grants/${encodeURIComponent(id)}`, { method: 'DELETE' })
  if (!response.ok && response.status !== 404) throw new Error(`The server answered ${response.status}.`)
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}
