import { useCallback, useSyncExternalStore } from 'react'

const PREFIX = '#/'

/** The thread id in the address; an address without one gets a new id. */
export function useThreadId(): readonly [threadId: string, open: (threadId?: string) => void] {
  const threadId = useSyncExternalStore(onHash, current)
  const open = useCallback((id: string = crypto.randomUUID()) => {
    location.hash = PREFIX + encodeURIComponent(id)
  }, [])
  return [threadId, open]
}

function onHash(listener: () => void): () => void {
  addEventListener('hashchange', listener)
  return () => removeEventListener('hashchange', listener)
}

function current(): string {
  if (!location.hash.startsWith(PREFIX)) {
    history.replaceState(null, '', PREFIX + crypto.randomUUID())
  }
  try {
    return decodeURIComponent(location.hash.slice(PREFIX.length))
  } catch {
    return 'unreadable'
  }
}
