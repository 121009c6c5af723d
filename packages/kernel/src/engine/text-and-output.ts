import type { AgentEvent, EventOf } from '../data/event.ts'
import type { Json } from '../data/json.ts'
import { type Message, textOf } from '../data/message.ts'

/**
 * The text and output that a run would end with now, from its events.
 * Contract: the last message decides; an exit decides the output, whatever is said after it.
 * @example const result = new TextAndOutput(); for (const event of events) result.update(event)
 */
export class TextAndOutput {
  #message = ''
  /** The text of the last tool result, until a message follows it. */
  #direct: string | undefined
  /** The text of a result kept from an earlier run; it counts once its turn has ended. */
  #kept: string | undefined
  #output: Json | undefined
  #exited = false

  /** The text and output of a run that goes on after it has said everything. */
  static of({ text, output }: { readonly text: string; readonly output?: Json | undefined }): TextAndOutput {
    const made = new TextAndOutput()
    made.#message = text
    made.#output = output
    return made
  }

  get output(): Json | undefined {
    return this.#output
  }

  /** Whether an exit has decided the output. */
  get exited(): boolean {
    return this.#exited
  }

  /** Gives the text; that of a tool result only if the agents have nothing left to do. */
  text(complete: boolean): string {
    return (complete ? (this.#kept ?? this.#direct) : undefined) ?? this.#message
  }

  /** Reads the kept result at the end of a history. */
  expect(messages: readonly Message[]): void {
    const last = messages.findLast((message) => message.role !== 'tool' || message.kept)
    if (last?.role === 'tool') this.#kept = textOf(last.content)
  }

  update(event: AgentEvent): void {
    switch (event.type) {
      case 'message-end':
        this.#updateMessage(event)
        return
      case 'tool-end':
        if (event.status !== 'dropped') this.#direct = textOf(event.content)
        return
      case 'action':
        if (event.action.type !== 'exit') return
        this.#output = event.action.result
        this.#exited = true
        return
    }
  }

  /** Takes over the text and output of one of several agents that ran at the same time. */
  set(other: TextAndOutput): void {
    this.#message = other.#message
    this.#direct = other.#direct
    this.#kept = other.#kept
    this.#output = other.#output
    this.#exited = other.#exited
  }

  #updateMessage({ message, output, dropped }: EventOf<'message-end'>): void {
    if (dropped) return
    this.#message = textOf(message.content)
    this.#direct = this.#kept = undefined
    if (!this.#exited) this.#output = output
  }
}
