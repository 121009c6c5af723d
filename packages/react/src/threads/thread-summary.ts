/** A conversation in a list. */
export interface ThreadSummary {
  readonly threadId: string
  readonly title: string | undefined
  readonly updatedAt: number
  readonly status: 'idle' | 'running' | 'waiting' | 'broke-off'
}

/** A conversation as the server lists it. */
export interface ListedThread {
  readonly threadId: string
  readonly title?: string
  readonly updatedAt: number
  readonly runId?: string
  readonly lostRunId?: string
  readonly waiting: boolean
}

/** A page of them; `next` is where the next page begins. */
export interface ListedPage {
  readonly threads: readonly ListedThread[]
  readonly next?: string | number
}

/** What an edit has cut off a conversation is a conversation of its own, which lists leave out. */
export function isEarlierVersion({ threadId }: ListedThread): boolean {
  return /~\d{1,9}$/.test(threadId)
}

export function summaryOf({ threadId, title, updatedAt, runId, lostRunId, waiting }: ListedThread): ThreadSummary {
  const status = runId !== undefined ? 'running' : lostRunId !== undefined ? 'broke-off' : waiting ? 'waiting' : 'idle'
  return { threadId, title, updatedAt, status }
}
