import { type Thread, useThread } from '@troupe/react'
import { CLIENT_TOOLS } from './client-tools.ts'
import type { Shared } from './packing.ts'
import { getHistory, putState } from './server.ts'

/** The conversation of a thread, with everything that the panel shows of it. */
export function useConversation(threadId: string): Thread {
  return useThread({
    url: '/agent',
    threadId,
    tools: CLIENT_TOOLS,
    history: getHistory,
    keepEvents: true,
    saveState: (state) => putState(threadId, { packing: (state as Shared).packing ?? [] }),
  })
}
