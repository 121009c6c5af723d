import { useEffect, useState, useSyncExternalStore } from 'react'
import type { Thread, ThreadOptions } from './thread.ts'
import { ThreadSession } from './thread-session.ts'

/**
 * One conversation with the agents behind `url`, open while the component is shown; renders at most once per frame.
 * Contract: other options than `url` and `threadId` may change at any time; if these change, another conversation is shown.
 * @example const thread = useThread({ url: '/agent', threadId: 'trip' })
 */
export function useThread(options: ThreadOptions): Thread {
  const { url, threadId } = options
  const [session, setSession] = useState(() => new ThreadSession(options))
  const isOther = session.options.url !== url || session.options.threadId !== threadId
  const current = isOther ? new ThreadSession(options) : session
  if (isOther) setSession(current)
  useEffect(() => {
    current.options = options
  })
  useEffect(current.open, [current])
  return useSyncExternalStore(current.subscribe, current.view, current.view)
}
