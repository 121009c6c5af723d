import { useCallback, useEffect, useState } from 'react'
import { type Grant, getGrants, revokeGrant } from '../conversation/server.ts'

/** The permissions that a person has given. */
export interface GivenGrants {
  readonly list: readonly Grant[]
  /** Whether the last request did not work. */
  readonly failed: boolean
  readonly revoke: (id: string) => void
}

/** Loads the permissions, again when `key` changes and when the page gets the focus. */
export function useGrants(key: string): GivenGrants {
  const [list, setList] = useState<readonly Grant[]>([])
  const [failed, setFailed] = useState(false)
  const refresh = useCallback(() => {
    getGrants().then(
      (grants) => {
        setList(grants)
        setFailed(false)
      },
      () => setFailed(true),
    )
  }, [])
  useEffect(refresh, [key, refresh])
  useEffect(() => {
    addEventListener('focus', refresh)
    return () => removeEventListener('focus', refresh)
  }, [refresh])
  const revoke = (id: string) => {
    revokeGrant(id).then(refresh, () => setFailed(true))
  }
  return { list, failed, revoke }
}
