import { EventType, type ReasoningMessage } from '@ag-ui/core'
import type { Content } from '@troupe/kernel'
import type { AgUiEvent } from '../protocol.ts'
import { tagged } from './tagged.ts'

/** A segment of reasoning: the reasoning between two pieces of text. */
interface ReasoningSegment {
  readonly text: string
  readonly encrypted?: string
  readonly afterText: boolean
}

/** A segment as the client has it. */
interface Segment {
  readonly id: string
  /** The length of the text before it. */
  readonly at: number
  text: string
  encrypted?: string
}

/** The reasoning of one message as the client has it so far. */
export class ShownReasoning {
  readonly #messageId: string
  readonly #owner: string | undefined
  readonly #segments: Segment[] = []
  #open: Segment | undefined

  constructor(messageId: string, owner: string | undefined) {
    this.#messageId = messageId
    this.#owner = owner
  }

  get size(): number {
    return this.#segments.length
  }

  /** Contract: continues the last segment, unless text came in between. */
  add(delta: string, at: number, out: AgUiEvent[]): void {
    if (!this.#open) {
      const last = this.#segments.at(-1)
      this.#resume(last?.at === at ? last : this.#append(at), out)
    }
    this.#write(delta, out)
  }

  pause(out: AgUiEvent[]): void {
    if (!this.#open) return
    const { id: messageId } = this.#open
    this.#open = undefined
    out.push(tagged({ type: EventType.REASONING_MESSAGE_END, messageId }, this.#owner))
    out.push(tagged({ type: EventType.REASONING_END, messageId }, this.#owner))
  }

  /** Adds what was not streamed of the segments before or after the text. Contract: false if the client has a different text of one. */
  completeAll(segments: readonly ReasoningSegment[], afterText: boolean, at: number, out: AgUiEvent[]): boolean {
    let agrees = true
    for (const [i, segment] of segments.entries()) {
      if (segment.afterText === afterText) agrees = this.#complete(i, segment, at, out) && agrees
    }
    return agrees
  }

  #complete(index: number, { text, encrypted, afterText }: ReasoningSegment, at: number, out: AgUiEvent[]): boolean {
    const segment = this.#segments[index] ?? this.#append(afterText ? Math.max(at, 1) : 0)
    const agrees = text.startsWith(segment.text)
    const rest = agrees ? text.slice(segment.text.length) : ''
    if (rest !== '') {
      if (this.#open !== segment) {
        this.pause(out)
        this.#resume(segment, out)
      }
      this.#write(rest, out)
    }
    segment.text = text
    if (encrypted !== undefined) {
      this.pause(out)
      segment.encrypted = encrypted
      out.push(encryptedValue(segment.id, encrypted, this.#owner))
    }
    return agrees
  }

  /** Drops the segments beyond `size`; true if there were any. */
  cut(size: number): boolean {
    return this.#segments.splice(size).length > 0
  }

  messages(): { readonly afterText: boolean; readonly message: ReasoningMessage }[] {
    const tag = this.#owner !== undefined && { subagentRunId: this.#owner }
    return this.#segments.map(({ id, at, text, encrypted }) => {
      const seal = encrypted !== undefined && { encryptedValue: encrypted }
      return { afterText: at > 0, message: { id, role: 'reasoning', content: text, ...seal, ...tag } }
    })
  }

  #append(at: number): Segment {
    const segment = { id: segmentId(this.#messageId, this.#segments.length), at, text: '' }
    this.#segments.push(segment)
    return segment
  }

  #resume(segment: Segment, out: AgUiEvent[]): void {
    const { id: messageId } = segment
    this.#open = segment
    out.push(tagged({ type: EventType.REASONING_START, messageId }, this.#owner))
    out.push(tagged({ type: EventType.REASONING_MESSAGE_START, messageId, role: 'reasoning' }, this.#owner))
  }

  #write(delta: string, out: AgUiEvent[]): void {
    if (!this.#open) return
    this.#open.text += delta
    out.push(tagged({ type: EventType.REASONING_MESSAGE_CONTENT, messageId: this.#open.id, delta }, this.#owner))
  }
}

/** The event with the encrypted reasoning that a provider expects back, for a message or a segment of its reasoning. */
export function encryptedValue(entityId: string, encryptedValue: string, owner: string | undefined): AgUiEvent {
  return tagged({ type: EventType.REASONING_ENCRYPTED_VALUE, subtype: 'message', entityId, encryptedValue }, owner)
}

/** The reasoning of a message in segments. Contract: the same segments as in the stream. */
export function segmentsOf(content: Content): readonly ReasoningSegment[] {
  if (typeof content === 'string') return []
  const segments: ReasoningSegment[] = []
  let text = ''
  let open = false
  for (const part of content) {
    if (part.type === 'text' && part.text !== '') {
      text += part.text
      open = false
    }
    if (part.type !== 'reasoning') continue
    const before = open ? segments.pop() : undefined
    const encrypted = part.encrypted ?? before?.encrypted
    const segment = { text: (before?.text ?? '') + part.text, afterText: text !== '' }
    segments.push(encrypted === undefined ? segment : { ...segment, encrypted })
    open = true
  }
  return segments
}

/** The id under which a client keeps a segment of a message's reasoning. */
export function segmentId(messageId: string, index: number): string {
  return index === 0 ? `${messageId}:reasoning` : `${messageId}:reasoning:${index + 1}`
}

/** The message of a segment, by its id. */
export function messageOfSegment(id: string): string {
  return id.replace(/:reasoning(:\d+)?$/, '')
}
