import { type AssistantMessage, EventType } from '@ag-ui/core'
import { type Content, type FinishReason, type ToolCall, textOf } from '@troupe/kernel'
import type { AgUiEvent, AgUiMessage } from '../protocol.ts'
import { encryptedValue, ShownReasoning, segmentsOf } from './shown-reasoning.ts'
import { tagged } from './tagged.ts'
import { callsOf, PARTIAL } from './to-ag-ui-messages.ts'

/** Reasons that clients need not know. */
const USUAL: ReadonlySet<FinishReason | undefined> = new Set([undefined, 'stop', 'tool-calls'])

/** An assistant message as the client has it so far. */
export class ShownMessage {
  readonly id: string
  readonly owner: string | undefined
  /** By id, with the arguments that the client has so far. */
  readonly calls: Map<string, ToolCall> = new Map()
  readonly #agentName: string
  readonly #reasoning: ShownReasoning
  #text = ''
  #writing = false
  #encrypted: string | undefined
  #partial = false
  /** Nothing is added any more. */
  ended = false

  constructor(id: string, owner: string | undefined, agentName: string) {
    this.id = id
    this.owner = owner
    this.#agentName = agentName
    this.#reasoning = new ShownReasoning(id, owner)
  }

  /** Whether the client has seen any part of it. */
  get visible(): boolean {
    return this.#text !== '' || this.#reasoning.size > 0 || this.calls.size > 0
  }

  addText(delta: string, out: AgUiEvent[]): void {
    if (delta === '') return
    const { id: messageId, owner } = this
    if (!this.#writing) {
      this.#writing = true
      this.pause(out)
      const name = this.#agentName
      out.push(tagged({ type: EventType.TEXT_MESSAGE_START, messageId, role: 'assistant', name }, owner))
    }
    this.#text += delta
    out.push(tagged({ type: EventType.TEXT_MESSAGE_CONTENT, messageId, delta }, owner))
  }

  addReasoning(delta: string, out: AgUiEvent[]): void {
    this.#reasoning.add(delta, this.#text.length, out)
  }

  /** Closes the open reasoning, which may be resumed. */
  pause(out: AgUiEvent[]): void {
    this.#reasoning.pause(out)
  }

  /** Adds content that was not streamed. Contract: false if the client has content that can only be replaced. */
  complete(content: Content, out: AgUiEvent[]): boolean {
    const segments = segmentsOf(content)
    const thoughts = segments.filter(({ text }) => text !== '')
    let agrees = this.#reasoning.completeAll(thoughts, false, this.#text.length, out)
    const text = textOf(content)
    if (text.startsWith(this.#text)) this.addText(text.slice(this.#text.length), out)
    else agrees = false
    this.#text = text
    agrees = this.#reasoning.completeAll(thoughts, true, this.#text.length, out) && agrees
    if (this.#reasoning.cut(thoughts.length)) agrees = false
    this.#encrypted = segments.findLast((segment) => segment.text === '')?.encrypted
    return agrees
  }

  /** Closes its text and reasoning; `partial` says that the model was cut off. */
  end(out: AgUiEvent[], finishReason?: FinishReason, partial = false): void {
    this.ended = true
    this.#partial = partial
    this.pause(out)
    // The encrypted value belongs to a message that the client has.
    if (this.#encrypted !== undefined && (this.#text !== '' || this.calls.size > 0)) {
      out.push(encryptedValue(this.id, this.#encrypted, this.owner))
    }
    if (!this.#writing) return
    this.#writing = false
    const metadata = partial ? PARTIAL : !USUAL.has(finishReason) && { metadata: { finishReason } }
    out.push(tagged({ type: EventType.TEXT_MESSAGE_END, messageId: this.id, ...metadata }, this.owner))
  }

  /** The message as it appears in a snapshot. */
  messages(): AgUiMessage[] {
    const thoughts = this.#reasoning.messages()
    const message: AssistantMessage = {
      id: this.id,
      role: 'assistant',
      name: this.#agentName,
      ...(this.#text !== '' && { content: this.#text }),
      ...(this.calls.size > 0 && { toolCalls: callsOf([...this.calls.values()]) }),
      ...(this.#encrypted !== undefined && { encryptedValue: this.#encrypted }),
      ...(this.#partial && PARTIAL),
      ...(this.owner !== undefined && { subagentRunId: this.owner }),
    }
    return [
      ...thoughts.filter(({ afterText }) => !afterText).map(({ message }) => message),
      ...(this.#text === '' && this.calls.size === 0 ? [] : [message]),
      ...thoughts.filter(({ afterText }) => afterText).map(({ message }) => message),
    ]
  }
}
