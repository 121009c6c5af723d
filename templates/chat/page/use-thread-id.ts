import { useCallback, useSyncExternalStore } from 'react'

/** The id of the conversation, which is in the address; without one a new conversation begins. */
export function useThreadId(): readonly [threadId: string, open: (threadId?: string) => void] {
  const threadId = useSyncExternalStore(onChange, current)
  const open = useCallback((id: string = crypto.randomUUID()) => {
    location.hash = id
  }, [])
  return [threadId, open]
}

function onChange(listener: () => void): () => void {
  // A page that also changes its path tells of it by `popstate` alone.
  for (const event of ['hashchange', 'popstate']) addEventListener(event, listener)
  return () => {
    for (const event of ['hashchange', 'popstate']) removeEventListener(event, listener)
  }
}

function current(): string {
  if (location.hash.length < 2) history.replaceState(null, '', `#${crypto.randomUUID()}`)
  return location.hash.slice(1)
}
