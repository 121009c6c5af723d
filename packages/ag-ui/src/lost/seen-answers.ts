import { EventType } from '@ag-ui/core'
import type { ModelPart, RunContext } from '@troupe/kernel'
import type { AgUiEvent } from '../protocol.ts'
import { messageOfSegment } from '../translate/shown-reasoning.ts'

/** The answers that readers of a run have seen, for the model calls that broke off. */
export class SeenAnswers {
  /** By message id; their calls have the ids that clients know. */
  readonly #answers: Map<string, ModelPart[]> = new Map()
  /** By the id that clients know: the message of a call. */
  readonly #messages: Map<string, string> = new Map()
  readonly #begun: Set<string> = new Set()

  constructor(seen: Iterable<AgUiEvent>) {
    for (const event of seen) this.#add(event)
  }

  /** Notes an answer that the run has given again. */
  begin(messageId: string): void {
    this.#begun.add(messageId)
  }

  /** What readers have seen of the answers that an agent has begun and not given again, with `restart` between them. */
  partsOf({ runId, step, origin }: RunContext): readonly ModelPart[] {
    const own = `${runId}/${step}#`
    const parts: ModelPart[] = []
    for (const [id, answer] of this.#answers) {
      if (!id.startsWith(own) || !/^\d+$/.test(id.slice(own.length)) || this.#begun.has(id)) continue
      if (parts.length > 0) parts.push({ type: 'restart' })
      for (const part of answer) parts.push(played(part, runId, origin))
    }
    return parts
  }

  #add(event: AgUiEvent): void {
    switch (event.type) {
      case EventType.TEXT_MESSAGE_CONTENT:
        this.#part(event.messageId, { type: 'text-delta', delta: event.delta })
        return
      case EventType.REASONING_MESSAGE_CONTENT:
        this.#part(messageOfSegment(event.messageId), { type: 'reasoning-delta', delta: event.delta })
        return
      case EventType.TOOL_CALL_START: {
        const { toolCallId: callId, toolCallName: name, parentMessageId = '' } = event
        this.#messages.set(callId, parentMessageId)
        this.#part(parentMessageId, { type: 'tool-call-start', callId, name })
        return
      }
      case EventType.TOOL_CALL_ARGS:
        this.#callPart(event.toolCallId, { type: 'tool-call-delta', callId: event.toolCallId, delta: event.delta })
        return
      case EventType.TOOL_CALL_END:
        this.#callPart(event.toolCallId, { type: 'tool-call-end', callId: event.toolCallId })
    }
  }

  #callPart(callId: string, part: ModelPart): void {
    const messageId = this.#messages.get(callId)
    if (messageId !== undefined) this.#part(messageId, part)
  }

  #part(messageId: string, part: ModelPart): void {
    const answer = this.#answers.get(messageId)
    if (answer) answer.push(part)
    else this.#answers.set(messageId, [part])
  }
}

/** A part as the model would give it. Contract: an id that the kernel made is left empty, so that the kernel makes the same one again. */
function played(part: ModelPart, runId: string, origin: string): ModelPart {
  if (!('callId' in part)) return part
  const { callId } = part
  const own = origin !== '' && callId.startsWith(`${origin}/`) ? callId.slice(origin.length + 1) : callId
  return { ...part, callId: own.startsWith(`${runId}/`) ? '' : own }
}
