import { useCallback, useEffect, useState } from 'react'
import { getThreads, type ThreadSummary } from '../conversation/server.ts'

const PAGE = 50
const REFRESH_MS = 2_000

/** The list of conversations. */
export interface Threads {
  readonly list: readonly ThreadSummary[]
  readonly refresh: () => void
  /** Loads older ones too. Contract: undefined if there are none. */
  readonly more: (() => void) | undefined
}

/** Loads the list of conversations, again when `key` changes, when the page gets the focus, and while one of them runs. */
export function useThreads(key: string): Threads {
  const [limit, setLimit] = useState(PAGE)
  const [list, setList] = useState<readonly ThreadSummary[]>([])
  const refresh = useCallback(() => {
    getThreads(limit).then(setList, () => undefined)
  }, [limit])
  useEffect(refresh, [key, refresh])
  useEffect(() => {
    addEventListener('focus', refresh)
    return () => removeEventListener('focus', refresh)
  }, [refresh])
  useEffect(() => {
    if (!list.some(({ running }) => running)) return
    const timer = setTimeout(refresh, REFRESH_MS)
    return () => clearTimeout(timer)
  }, [list, refresh])
  return { list, refresh, more: list.length < limit ? undefined : () => setLimit(limit + PAGE) }
}
