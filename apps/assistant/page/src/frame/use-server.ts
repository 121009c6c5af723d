import { useCallback, useEffect, useState } from 'react'
import { type About, getAbout, getThreads, type ThreadSummary } from '../talk/server.ts'

/** What runs behind the page. */
export function useAbout(): About | undefined {
  const [about, setAbout] = useState<About>()
  useEffect(() => {
    getAbout().then(setAbout, () => undefined)
  }, [])
  return about
}

/** The conversations that there are; asked for again when `moment` changes. */
export function useThreads(moment: string): readonly [threads: readonly ThreadSummary[], refresh: () => void] {
  const [threads, setThreads] = useState<readonly ThreadSummary[]>([])
  const refresh = useCallback(() => {
    getThreads().then(setThreads, () => undefined)
  }, [])
  useEffect(refresh, [moment, refresh])
  return [threads, refresh]
}
