import { type AssistantMessage, EventType } from '@ag-ui/core'
import { type Content, type FinishReason, textOf } from '@troupe/kernel'
import type { AgUiEvent, AgUiMessage } from '../protocol.ts'
import { segmentsOf } from './content.ts'
import { callsOf } from './messages.ts'
import type { ShownCall } from './shown-call.ts'
import { tagged } from './tag.ts'
import { sealed, Thinking } from './thinking.ts'

/** Reasons that need no telling. */
const USUAL: ReadonlySet<FinishReason | undefined> = new Set([undefined, 'stop', 'tool-calls'])

/** An assistant message as the client has it so far. */
export class Said {
  readonly id: string
  readonly owner: string | undefined
  readonly calls: Map<string, ShownCall> = new Map()
  readonly #agentName: string
  readonly #thinking: Thinking
  #text = ''
  #writing = false
  #encrypted: string | undefined
  /** Its end has come: nothing is added any more. */
  ended = false

  constructor(id: string, owner: string | undefined, agentName: string) {
    this.id = id
    this.owner = owner
    this.#agentName = agentName
    this.#thinking = new Thinking(id, owner)
  }

  /** Whether the client has anything of it. */
  get shown(): boolean {
    return this.#text !== '' || this.#thinking.size > 0 || this.calls.size > 0
  }

  /** Contract: the hot path; while the text is open one event and its array are all that is made. */
  addText(delta: string): readonly AgUiEvent[] {
    const { id: messageId, owner } = this
    if (!this.#writing) {
      const out: AgUiEvent[] = []
      this.#write(delta, out)
      return out
    }
    this.#text += delta
    return owner === undefined
      ? [{ type: EventType.TEXT_MESSAGE_CONTENT, messageId, delta }]
      : [{ type: EventType.TEXT_MESSAGE_CONTENT, messageId, delta, subagentRunId: owner }]
  }

  addReasoning(delta: string): readonly AgUiEvent[] {
    const out: AgUiEvent[] = []
    this.#thinking.add(delta, this.#text.length, out)
    return out
  }

  /** A pause in the thinking, which may go on. */
  pause(out: AgUiEvent[]): void {
    this.#thinking.pause(out)
  }

  /** Adds what was not streamed. Contract: false if the client has something that can only be replaced. */
  complete(content: Content, out: AgUiEvent[]): boolean {
    const segments = segmentsOf(content)
    const thoughts = segments.filter(({ text }) => text !== '')
    let agrees = this.#completeThoughts(thoughts, false, out)
    const text = textOf(content)
    if (text.startsWith(this.#text)) this.#write(text.slice(this.#text.length), out)
    else agrees = false
    this.#text = text
    agrees = this.#completeThoughts(thoughts, true, out) && agrees
    if (this.#thinking.cut(thoughts.length)) agrees = false
    this.#encrypted = segments.findLast((segment) => segment.text === '')?.encrypted
    return agrees
  }

  /** Closes its text and thinking. */
  end(out: AgUiEvent[], finishReason?: FinishReason): void {
    this.ended = true
    this.pause(out)
    // Nothing can be sealed that is not there.
    if (this.#encrypted !== undefined && (this.#text !== '' || this.calls.size > 0)) {
      out.push(sealed(this.id, this.#encrypted, this.owner))
    }
    if (!this.#writing) return
    this.#writing = false
    const metadata = !USUAL.has(finishReason) && { metadata: { finishReason } }
    out.push(tagged({ type: EventType.TEXT_MESSAGE_END, messageId: this.id, ...metadata }, this.owner))
  }

  /** As a snapshot shows it. */
  messages(): AgUiMessage[] {
    const thoughts = this.#thinking.messages()
    const spoken: AssistantMessage = {
      id: this.id,
      role: 'assistant',
      name: this.#agentName,
      ...(this.#text !== '' && { content: this.#text }),
      ...(this.calls.size > 0 && { toolCalls: callsOf([...this.calls.values()]) }),
      ...(this.#encrypted !== undefined && { encryptedValue: this.#encrypted }),
      ...(this.owner !== undefined && { subagentRunId: this.owner }),
    }
    return [
      ...thoughts.filter(({ afterText }) => !afterText).map(({ message }) => message),
      ...(this.#text === '' && this.calls.size === 0 ? [] : [spoken]),
      ...thoughts.filter(({ afterText }) => afterText).map(({ message }) => message),
    ]
  }

  #write(delta: string, out: AgUiEvent[]): void {
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

  #completeThoughts(thoughts: ReturnType<typeof segmentsOf>, afterText: boolean, out: AgUiEvent[]): boolean {
    let agrees = true
    for (const [i, thought] of thoughts.entries()) {
      if (thought.afterText !== afterText) continue
      agrees = this.#thinking.complete(i, thought, this.#text.length, out) && agrees
    }
    return agrees
  }
}
