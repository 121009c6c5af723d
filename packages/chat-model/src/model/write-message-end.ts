import {
  type AssistantMessage,
  type EventDraft,
  type EventOf,
  type Message,
  type RunContext,
  type Sink,
  textOf,
} from '@troupe/kernel'

/** The fields of a `message-end` beside its message. */
export type MessageEndFields = Pick<EventOf<'message-end'>, 'usage' | 'finishReason' | 'output' | 'dropped'>

/**
 * Writes the end of an answer, and every change that the after-hooks made to it.
 * Contract: `message-end` carries the message as the history has it; a call that a hook added is announced first, a streamed
 * call that it removed is closed as dropped; a message that a hook added is written whole; with `dropped` the last message is dropped.
 */
export async function writeMessageEnd(
  sink: Sink<EventDraft>,
  ctx: RunContext,
  streamed: AssistantMessage,
  before: readonly Message[],
  after: readonly Message[],
  fields: MessageEndFields,
): Promise<void> {
  const kept = after.findLast((message) => message.id === streamed.id)
  const last = after.at(-1)
  const dropped = fields.dropped ? last : undefined
  const final = kept?.role === 'assistant' && kept !== dropped ? kept : undefined
  if (final) {
    if (final !== streamed) await writeCallChanges(sink, ctx, final, streamed)
    const wait = sink.write({ type: 'message-end', message: final, ...(final === last ? fields : usageOf(fields)) })
    if (wait) await wait
  } else {
    await writeCallChanges(sink, ctx, { ...streamed, toolCalls: [] }, streamed)
    await sink.write({ type: 'message-end', message: streamed, ...usageOf(fields), dropped: true })
  }
  if (last === final) return
  const known = new Set(before.map(({ id }) => id).concat(streamed.id))
  for (const message of after) {
    if (message.role === 'assistant' && message !== dropped && !known.has(message.id)) {
      await writeWholeMessage(sink, ctx, message, message === last ? fields : {})
    }
  }
}

/** Tokens are counted with the message that used them. */
function usageOf({ usage, finishReason }: MessageEndFields): MessageEndFields {
  return { ...(usage && { usage }), ...(finishReason && { finishReason }) }
}

async function writeCallChanges(
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

async function writeWholeMessage(
  sink: Sink<EventDraft>,
  ctx: RunContext,
  message: AssistantMessage,
  fields: MessageEndFields,
): Promise<void> {
  const { id: messageId } = message
  const text = textOf(message.content)
  await sink.write({ type: 'message-start', messageId })
  if (text !== '') await sink.write({ type: 'text-delta', messageId, delta: text })
  await writeCallChanges(sink, ctx, message, { ...message, toolCalls: [] })
  await sink.write({ type: 'message-end', message, ...(fields.output !== undefined && { output: fields.output }) })
}
