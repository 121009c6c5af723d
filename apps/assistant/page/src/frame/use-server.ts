import { useCallback, useEffect, useState } from 'react'
import { type About, getAbout, getThreads, type ThreadSummary } from '../talk/server.ts'

const PAGE = 50
const AGAIN_MS = 2_000

/** What runs behind the page. */
export function useAbout(): About | undefined {
  const [about, setAbout] = useState<About>()
  useEffect(() => {
    getAbout().then(setAbout, () => undefined)
  }, [])
  return about
}

/** The conversations that there are. */
export interface Threads {
  readonly list: readonly ThreadSummary[]
  readonly refresh: () => void
  /** Shows older ones too. Contract: undefined if there are none. */
  readonly more: (() => void) | undefined
}

/** Asked for again when `moment` changes, when the page is looked at again, and while one of them runs. */
export function useThreads(moment: string): Threads {
  const [limit, setLimit] = useState(PAGE)
  const [list, setList] = useState<readonly ThreadSummary[]>([])
  const refresh = useCallback(() => {
    getThreads(limit).then(setList, () => undefined)
  }, [limit])
  useEffect(refresh, [moment, refresh])
  useEffect(() => {
    addEventListener('focus', refresh)
    return () => removeEventListener('focus', refresh)
  }, [refresh])
  useEffect(() => {
    if (!list.some(({ running }) => running)) return
    const timer = setTimeout(refresh, AGAIN_MS)
    return () => clearTimeout(timer)
  }, [list, refresh])
  return { list, refresh, more: list.length < limit ? undefined : () => setLimit(limit + PAGE) }
}
