import type { Thread, TokensByMessage } from '@troupe/react'
import { useEffect, useState } from 'react'
import { getTokens } from './server.ts'

/** The tokens of a conversation, loaded again when a run begins or ends. */
export function useTokens({ threadId, status }: Thread): TokensByMessage {
  const [tokens, setTokens] = useState<TokensByMessage>({})
  useEffect(() => {
    if (status === 'loading') return setTokens({})
    let isCurrent = true
    getTokens(threadId).then(
      (loaded) => isCurrent && setTokens(loaded),
      () => undefined,
    )
    return () => {
      isCurrent = false
    }
  }, [threadId, status])
  return tokens
}
