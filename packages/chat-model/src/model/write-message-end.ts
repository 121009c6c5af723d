import {
  type AssistantMessage,
  type EventDraft,
  type Message,
  type Part,
  type RunContext,
  type Sink,
  textOf,
} from '@troupe/kernel'

type MessageEndDraft = Extract<EventDraft, { readonly type: 'message-end' }>

/**
 * Writes the end of an answer, and every change that the after-hooks made to it; `end` is the event without such changes.
 * Contract: `message-end` carries the message as the history has it; a call that a hook added is announced first, a streamed
 * call that it removed is closed as dropped; a message that a hook added is written whole; with `dropped` the last message is dropped.
 */
export function writeMessageEnd(
  sink: Sink<EventDraft>,
  ctx: RunContext,
  before: readonly Message[],
  after: readonly Message[],
  end: MessageEndDraft,
): void | Promise<void> {
  const unchanged = after.at(-1) === end.message && !end.dropped
  return unchanged ? sink.write(end) : writeChangedEnd(sink, ctx, before, after, end)
}

async function writeChangedEnd(
  sink: Sink<EventDraft>,
  ctx: RunContext,
  before: readonly Message[],
  after: readonly Message[],
  end: MessageEndDraft,
): Promise<void> {
  const { message: streamed, output, dropped: isDropped, ...bare } = end
  const last = after.at(-1)
  const dropped = isDropped ? last : undefined
  const kept = after.findLast(({ id }) => id === streamed.id)
  const final = kept?.role === 'assistant' && kept !== dropped ? kept : undefined
  if (final) {
    await writeCallChanges(sink, ctx, final, streamed)
    await sink.write(final === last ? { ...end, message: final } : { ...bare, message: final })
  } else {
    await writeCallChanges(sink, ctx, { ...streamed, toolCalls: [] }, streamed)
    await sink.write({ ...bare, message: streamed, dropped: true })
  }
  if (last === final) return
  const known = new Set(before.map(({ id }) => id).concat(streamed.id))
  for (const message of after) {
    if (message.role !== 'assistant' || message === dropped || known.has(message.id)) continue
    await writeWholeMessage(sink, ctx, message, message === last ? output : undefined)
  }
}

/**
 * Writes the end of an answer that was cut off for good; gives the message that stays.
 * Contract: its text and files stay in the history, as a partial message; its calls, which never run, are closed as dropped; an answer without text and files is dropped.
 */
export async function writePartialEnd(
  sink: Sink<EventDraft>,
  ctx: RunContext,
  streamed: AssistantMessage,
): Promise<AssistantMessage | undefined> {
  const partial = partialOf(streamed)
  if (partial) await writeCallChanges(sink, ctx, partial, streamed)
  await sink.write(
    partial ? { type: 'message-end', message: partial } : { type: 'message-end', message: streamed, dropped: true },
  )
  return partial
}

/** The part of an answer that stays. Contract: without metadata, which refers to an answer that the provider has not finished. */
function partialOf({ toolCalls: _, content, ...message }: AssistantMessage): AssistantMessage | undefined {
  const parts = typeof content === 'string' ? [] : content.flatMap(bare)
  if (textOf(content).trim() === '' && !parts.some(({ type }) => type === 'file')) return undefined
  const isText = parts.every(({ type }) => type === 'text')
  return { ...message, content: isText ? textOf(content) : parts, partial: true }
}

function bare(part: Part): Part | readonly Part[] {
  if (part.type === 'file') {
    const { metadata: _, ...file } = part
    return file
  }
  return part.text === '' ? [] : { type: part.type, text: part.text }
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
  output: MessageEndDraft['output'],
): Promise<void> {
  const { id: messageId, structured } = message
  const text = textOf(message.content)
  await sink.write({ type: 'message-start', messageId, ...(structured && { structured }) })
  if (text !== '') await sink.write({ type: 'text-delta', messageId, delta: text })
  await writeCallChanges(sink, ctx, message, { ...message, toolCalls: [] })
  await sink.write({ type: 'message-end', message, ...(output !== undefined && { output }) })
}
