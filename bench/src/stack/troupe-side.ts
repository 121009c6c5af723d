import { chatModelAgent } from '@troupe/chat-model'
import { runner } from '@troupe/flow'
import type { Store } from '@troupe/kernel'
import { messageLifecycle, toolLifecycle } from '@troupe/persistence'
import { OWNER } from '../edge/run-request.ts'
import { lookup, PROMPT, pastMessages, scriptedModel } from './stack-script.ts'
import type { StackSide } from './stack-side.ts'

/** What of Troupe takes part in a turn. */
export interface TroupeOptions {
  readonly durability: 'turn' | 'step'
  /** Whether runs, tool calls and model calls are recorded. */
  readonly records?: boolean
  /** Whether each turn has a new runner, as after the start of a process. */
  readonly cold?: boolean
  /** How many messages the model sees. @default all */
  readonly last?: number
}

const PAGE = 2_000

/** A runner with a ChatModel agent on a store; its events are read one by one. */
export function troupeSide(
  store: Store,
  { durability, records = false, cold = false, last }: TroupeOptions,
): StackSide {
  const agent = chatModelAgent({
    name: 'agent',
    instruction: 'You are a helpful assistant.',
    model: scriptedModel,
    tools: [lookup],
  })
  const messages = records ? messageLifecycle({ store }) : undefined
  const callbacks = messages ? [messages, toolLifecycle({ messages })] : []
  const window = last === undefined ? {} : { history: { last } }
  const make = () => runner({ agent, store, durability, callbacks, ...window })
  const kept = make()
  const refOf = (threadId: string) => ({ ...OWNER, threadId })
  return {
    async seed(thread, count) {
      const ref = refOf(thread)
      await store.threads.open(ref)
      if (count === 0) return
      const { token } = await store.leases.acquire(ref, { runId: `seed-${thread}`, ttlMs: 60_000, begins: true })
      const rows = pastMessages(count, thread).map((message) => ({ runId: `seed-${thread}`, message }))
      for (let i = 0; i < rows.length; i += PAGE) {
        await store.threads.commit(ref, { messages: rows.slice(i, i + PAGE) }, token)
      }
      await store.leases.release(ref, token)
    },
    async turn(thread) {
      const session = refOf(thread)
      let text = ''
      for await (const event of (cold ? make() : kept).query(PROMPT, { session })) {
        if (event.type === 'text-delta') text += event.delta
      }
      await messages?.flush(session)
      return text
    },
    async [Symbol.asyncDispose]() {
      await messages?.[Symbol.asyncDispose]()
    },
  }
}
