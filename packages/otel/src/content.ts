import type { Content, Message, ModelRequest, ModelResult, Part } from '@troupe/kernel'

/** The kinds of content that a trace may show. */
export type ContentKind = 'instructions' | 'input' | 'output' | 'arguments' | 'result'

/** Gives what of a text a trace may show; undefined leaves it out. */
export type Redact = (text: string, kind: ContentKind) => string | undefined

/** A part of a message in the form of the conventions. */
type ShownPart = { readonly type: string; readonly [field: string]: string | undefined }

/** Writes messages in the form of the conventions, each text as `redact` leaves it. */
export class ShownContent {
  readonly #redact: Redact

  constructor(redact: Redact) {
    this.#redact = redact
  }

  text(content: Content, kind: ContentKind): string | undefined {
    if (typeof content === 'string') return this.#redact(content, kind)
    return JSON.stringify(this.#parts(content, kind))
  }

  instructions({ instruction }: ModelRequest): string | undefined {
    return instruction === '' ? undefined : JSON.stringify(this.#textPart(instruction, 'instructions'))
  }

  input({ messages }: ModelRequest): string {
    return JSON.stringify(messages.map((message) => ({ role: message.role, parts: this.#partsOf(message, 'input') })))
  }

  output({ message, finishReason }: ModelResult): string {
    const { role } = message
    return JSON.stringify([{ role, parts: this.#partsOf(message, 'output'), finish_reason: finishReason }])
  }

  #partsOf(message: Message, kind: ContentKind): readonly ShownPart[] {
    if (message.role === 'tool') {
      return [{ type: 'tool_call_response', id: message.callId, response: this.text(message.content, 'result') }]
    }
    const parts = this.#parts(message.content, kind)
    if (message.role !== 'assistant' || !message.toolCalls) return parts
    const calls = message.toolCalls.map((call) => ({
      type: 'tool_call',
      id: call.id,
      name: call.name,
      arguments: this.#redact(call.arguments, 'arguments'),
    }))
    return [...parts, ...calls]
  }

  #parts(content: Content, kind: ContentKind): readonly ShownPart[] {
    if (typeof content === 'string') return content === '' ? [] : this.#textPart(content, kind)
    return content.flatMap((part) => this.#part(part, kind))
  }

  #part(part: Part, kind: ContentKind): readonly ShownPart[] {
    if (part.type === 'text') return this.#textPart(part.text, kind)
    if (part.type === 'reasoning') return this.#textPart(part.text, kind, 'reasoning')
    // The bytes and the address of a file stay out: a trace should have neither.
    return [{ type: 'file', mime_type: part.mediaType, name: part.name }]
  }

  #textPart(text: string, kind: ContentKind, type = 'text'): readonly ShownPart[] {
    const content = this.#redact(text, kind)
    return content === undefined ? [] : [{ type, content }]
  }
}
