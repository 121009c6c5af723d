import type { RunContext } from '../context/context.ts'
import type { EventDraft } from '../data/event.ts'
import { type PipeStream, stream } from '../stream/stream.ts'

/**
 * One whole assistant message, for agents written by hand.
 * @example yield* say(ctx, 'Hello')
 */
export function say(ctx: RunContext, text: string): PipeStream<EventDraft> {
  return stream(async (sink) => {
    const messageId = ctx.ids.next()
    const message = { id: messageId, role: 'assistant', content: text, agentName: ctx.agentName } as const
    await sink.write({ type: 'message-start', messageId })
    await sink.write({ type: 'text-delta', messageId, delta: text })
    await sink.write({ type: 'message-end', message })
  })
}
