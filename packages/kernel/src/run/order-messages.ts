import type { RunContext } from '../context/context.ts'
import type { Message } from '../data/message.ts'
import { internals } from '../engine/kernel-context.ts'
import type { MessageList } from '../engine/run-core.ts'

/**
 * Puts messages of a run so far into this order, for an agent that runs others at the same time; without it, they are in the order in which they came.
 * @example orderMessages(ctx, ['m2', 'm1'])
 */
export function orderMessages(ctx: RunContext, ids: readonly string[]): void {
  const { core } = internals(ctx)
  core.recorder?.order(ids)
  for (const list of core.messageLists ?? []) list.order(ids)
}

/**
 * Puts the messages of these ids into the order of the ids; all others stay where they are.
 * @example reorder(messages, ['m2', 'm1'])
 */
export function reorder(messages: Message[], ids: readonly string[]): void {
  const found = [...new Set(ids)].flatMap((id) => messages.find((message) => message.id === id) ?? [])
  const moved = new Set(found)
  for (const [i, message] of messages.entries()) if (moved.has(message)) messages[i] = found.shift() as Message
}

/**
 * Tells a list of messages of the run when agents put them into another order, until the returned function is called.
 * @example const release = keepInOrder(ctx, { order: (ids) => reorder(messages, ids) })
 */
export function keepInOrder(ctx: RunContext, list: MessageList): () => void {
  const { core } = internals(ctx)
  core.messageLists ??= new Set()
  core.messageLists.add(list)
  return () => void core.messageLists?.delete(list)
}
