import { useCallback, useEffect, useMemo, useRef, useState } from 'react'
import { type Access, jsonOf, sender, threadUrl } from '../request/access.ts'
import type { Thread } from '../thread/thread.ts'
import {
  isEarlierVersion,
  type ListedPage,
  type ListedThread,
  summaryOf,
  type ThreadSummary,
} from './thread-summary.ts'

const REFRESH_MS = 2_000

/** The options of `useThreads`. */
export interface ThreadsOptions extends Access {
  /** The thread that is shown: the list has it too, and is loaded again when it starts or stops running. @default none */
  readonly thread?: Thread | undefined
  /** How many are loaded at once, at least. @default 50 */
  readonly pageSize?: number | undefined
}

/** The conversations of a user, the last changed first. */
export interface Threads {
  readonly list: readonly ThreadSummary[]
  /** Whether the last request failed; what was loaded before is still there. */
  readonly failed: boolean
  readonly refresh: () => void
  /** Loads older ones too; undefined when all are loaded. */
  readonly more: (() => void) | undefined
  /** Gives a conversation a title. Contract: false if the server did not take it. */
  readonly rename: (threadId: string, title: string) => Promise<boolean>
  /** Deletes a conversation. Contract: false if it is still there, because a run is active. */
  readonly remove: (threadId: string) => Promise<boolean>
}

interface Loaded {
  readonly threads: readonly ListedThread[]
  readonly next: string | number | undefined
}

/**
 * The conversations of a user: loaded at first, when the page gets the focus, when `thread` changes its status, and while one of them runs.
 * @example useThreads({ url: '/agent', thread: useThread({ url: '/agent', threadId }) }).list
 */
export function useThreads({ url, headers, fetch, thread, pageSize = 50 }: ThreadsOptions): Threads {
  const access = useRef({ headers, fetch })
  useEffect(() => {
    access.current = { headers, fetch }
  })
  const send = useMemo(() => sender(() => access.current), [])
  const [limit, setLimit] = useState(pageSize)
  const [{ threads, next }, setLoaded] = useState<Loaded>({ threads: [], next: undefined })
  const [failed, setFailed] = useState(false)
  const turn = useRef(0)

  const refresh = useCallback(() => {
    turn.current++
    const mine = turn.current
    const isCurrent = () => mine === turn.current
    loadThreads((query) => send(`${threadsUrl(url)}?${query}`), limit).then(
      (loaded) => {
        if (!isCurrent()) return
        setLoaded(loaded)
        setFailed(false)
      },
      () => isCurrent() && setFailed(true),
    )
  }, [url, limit, send])
  // Also when the thread or its status is another.
  useEffect(refresh, [refresh, thread?.threadId, thread?.status])
  useEffect(() => {
    window.addEventListener('focus', refresh)
    return () => {
      turn.current++
      window.removeEventListener('focus', refresh)
    }
  }, [refresh])
  useEffect(() => {
    if (!threads.some(({ runId }) => runId !== undefined)) return
    const timer = setTimeout(refresh, REFRESH_MS)
    return () => clearTimeout(timer)
  }, [threads, refresh])

  const ask = async (threadId: string, init: RequestInit): Promise<boolean> => {
    const response = await send(threadUrl(url, threadId), init).catch(() => undefined)
    refresh()
    return response?.ok === true
  }
  const rename = (threadId: string, title: string) => {
    const body = JSON.stringify({ title: title === '' ? null : title })
    return ask(threadId, { method: 'PATCH', headers: { 'content-type': 'application/json' }, body })
  }
  const list = useMemo(() => threads.map(summaryOf), [threads])
  return {
    list: withShown(list, thread),
    failed,
    refresh,
    more: next === undefined ? undefined : () => setLimit(threads.length + pageSize),
    rename,
    remove: (threadId) => ask(threadId, { method: 'DELETE' }),
  }
}

function threadsUrl(url: string): string {
  return threadUrl(url, '').slice(0, -1)
}

/** Loads the first threads, page by page. Contract: a store without an order by change gives them in the order in which they began. */
async function loadThreads(ask: (query: URLSearchParams) => Promise<Response>, limit: number): Promise<Loaded> {
  const threads: ListedThread[] = []
  let order: Record<string, string> = { order: 'changed' }
  let next: string | number | undefined
  do {
    const query = (more: Record<string, string>) =>
      new URLSearchParams({ ...more, limit: String(limit), ...(next !== undefined && { after: String(next) }) })
    let response = await ask(query(order))
    if (response.status === 400 && order.order) {
      order = {}
      response = await ask(query(order))
    }
    const page = await jsonOf<ListedPage>(response)
    threads.push(...page.threads.filter((thread) => !isEarlierVersion(thread)))
    next = page.threads.length === 0 ? undefined : page.next
  } while (next !== undefined && threads.length < limit)
  return { threads, next }
}

/** The list with the thread that is shown, which the server may not have yet. */
function withShown(list: readonly ThreadSummary[], thread: Thread | undefined): readonly ThreadSummary[] {
  if (!thread || thread.items.length === 0) return list
  const { threadId, title } = thread
  if (list.some((one) => one.threadId === threadId)) {
    return list.map((one) => (one.threadId === threadId ? { ...one, title: one.title ?? title } : one))
  }
  const status = thread.status === 'running' ? 'running' : 'idle'
  return [{ threadId, title, updatedAt: Date.now(), status }, ...list]
}
