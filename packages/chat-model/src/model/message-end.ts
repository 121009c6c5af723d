import {
  type AssistantMessage,
  type EventDraft,
  type Message,
  type MessageEnd,
  type RunContext,
  type Sink,
  textOf,
} from '@troupe/kernel'

/** What a message ends with. */
export type Ending = Pick<MessageEnd, 'usage' | 'finishReason' | 'output' | 'dropped'>

/**
 * Tells what the after-hooks made of an answer.
 * Contract: `message-end` carries the message as it stands in history; a call that a hook added is announced first, a streamed
 * one that it removed is closed as dropped; a message that a hook added is told whole; an `ending` that is dropped drops the last.
 */
export async function tellMessage(
  sink: Sink<EventDraft>,
  ctx: RunContext,
  streamed: AssistantMessage,
  before: readonly Message[],
  after: readonly Message[],
  ending: Ending,
): Promise<void> {
  const kept = after.findLast((message) => message.id === streamed.id)
  const last = after.at(-1)
  const dropped = ending.dropped ? last : undefined
  const carries = kept?.role === 'assistant' && kept !== dropped ? kept : undefined
  if (carries) {
    if (carries !== streamed) await tellCalls(sink, ctx, carries, streamed)
    const wait = sink.write({ type: 'message-end', message: carries, ...(carries === last ? ending : usageOf(ending)) })
    if (wait) await wait
  } else {
    await tellCalls(sink, ctx, { ...streamed, toolCalls: [] }, streamed)
    await sink.write({ type: 'message-end', message: streamed, ...usageOf(ending), dropped: true })
  }
  if (last === carries) return
  const known = new Set(before.map(({ id }) => id).concat(streamed.id))
  for (const message of after) {
    if (message.role === 'assistant' && message !== dropped && !known.has(message.id)) {
      await tellWhole(sink, ctx, message, message === last ? ending : {})
    }
  }
}

/** Tokens are counted with the message that cost them. */
function usageOf({ usage, finishReason }: Ending): Ending {
  return { ...(usage && { usage }), ...(finishReason && { finishReason }) }
}

async function tellCalls(
  sink: Sink<EventDraft>,
  ctx: RunContext,
  kept: AssistantMessage,
  streamed: AssistantMessage,
): Promise<void> {
  const shown = new Set((streamed.toolCalls ?? []).map(({ id }) => id))
  for (const call of kept.toolCalls ?? []) {
    if (shown.delete(call.id)) continue
    await sink.write({ type: 'tool-call-start', messageId: kept.id, callId: call.id, name: call.name })
    await sink.write({ type: 'tool-call-end', call })
  }
  for (const { id: callId, name } of (streamed.toolCalls ?? []).filter(({ id }) => shown.has(id))) {
    await sink.write({ type: 'tool-end', callId, messageId: ctx.ids.next(), name, status: 'dropped', content: '' })
  }
}

async function tellWhole(
  sink: Sink<EventDraft>,
  ctx: RunContext,
  message: AssistantMessage,
  ending: Ending,
): Promise<void> {
  const { id: messageId } = message
  const text = textOf(message.content)
  await sink.write({ type: 'message-start', messageId })
  if (text !== '') await sink.write({ type: 'text-delta', messageId, delta: text })
  await tellCalls(sink, ctx, message, { ...message, toolCalls: [] })
  await sink.write({ type: 'message-end', message, ...(ending.output !== undefined && { output: ending.output }) })
}
