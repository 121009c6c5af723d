import type { Interrupt, Message, Thread, ThreadRef, ThreadStore } from '@troupe/kernel'
import { UNKNOWN_RESULT } from '@troupe/kernel/history'

const PAGE = 1_000

/** The whole history of a thread. */
export async function loadMessages(threads: ThreadStore, ref: ThreadRef): Promise<readonly Message[]> {
  const messages: Message[] = []
  let after = 0
  for (;;) {
    const page = await threads.messages(ref, { after, limit: PAGE })
    for (const { message } of page) messages.push(message)
    const last = page.at(-1)
    if (!last || page.length < PAGE) return messages
    after = last.seq
  }
}

type OpenCall = Thread['openCalls'][number]

/** The calls of a thread that have no result after what was said. */
export class OpenCalls {
  readonly #open: Map<string, OpenCall> = new Map()

  constructor(thread: Thread, history: readonly Message[], said: readonly Message[]) {
    // What is stored is sound, but for a thread that waits.
    if (thread.checkpoint || thread.openCalls.length > 0) for (const message of history) this.#add(message)
    for (const message of said) this.#add(message)
  }

  #add(message: Message): void {
    if (message.role === 'tool') this.#open.delete(message.callId)
    if (message.role !== 'assistant') return
    for (const { id: callId, name } of message.toolCalls ?? []) {
      this.#open.set(callId, { callId, name, agentName: message.agentName ?? '' })
    }
  }

  /** Those that wait for a result, not for an answer. */
  besides(interrupts: readonly Interrupt[]): readonly OpenCall[] {
    const asked = new Set(interrupts.map(({ callId }) => callId))
    return [...this.#open.values()].filter(({ callId }) => !asked.has(callId))
  }

  /** Results that say that nothing is known, so that the next message finds a sound history. */
  neutralResults(): readonly Message[] {
    return [...this.#open.values()].map(({ callId, name, agentName }) => ({
      id: `${callId}#unknown`,
      role: 'tool',
      callId,
      name,
      agentName,
      content: UNKNOWN_RESULT,
    }))
  }
}
