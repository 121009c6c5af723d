import { EventType, type ToolMessage } from '@ag-ui/core'
import type { AgUiEvent } from '../protocol.ts'
import type { ShownMessage } from './shown-message.ts'
import { tagged } from './tagged.ts'

const WITHDRAWN = 'The call was withdrawn.'

/** A tool call as the client has it so far. */
export class ShownCall {
  /** The id that clients know: for a call of a nested run, prefixed with the calls around it. */
  readonly id: string
  readonly name: string
  readonly message: ShownMessage
  /** Its end is held back until it is certain that the client may run it. */
  readonly held: boolean
  arguments = ''
  answered = false
  #open = true

  constructor(id: string, name: string, message: ShownMessage, held: boolean) {
    this.id = id
    this.name = name
    this.message = message
    this.held = held
    message.calls.set(id, this)
  }

  start(out: AgUiEvent[]): void {
    this.message.pause(out)
    const { id: toolCallId, name: toolCallName, message } = this
    const parentMessageId = message.id
    out.push(tagged({ type: EventType.TOOL_CALL_START, toolCallId, toolCallName, parentMessageId }, message.owner))
  }

  add(delta: string, out: AgUiEvent[]): void {
    if (!this.#open) return
    this.arguments += delta
    out.push(tagged({ type: EventType.TOOL_CALL_ARGS, toolCallId: this.id, delta }, this.message.owner))
  }

  /** Adds arguments that were not streamed. Contract: false if the client has arguments that can only be replaced. */
  complete(given: unknown, out: AgUiEvent[]): boolean {
    const args = typeof given === 'string' ? given : ''
    const shown = this.arguments
    if (args === shown) return true
    if (this.#open && args.startsWith(shown)) {
      this.add(args.slice(shown.length), out)
      return true
    }
    this.arguments = args
    return false
  }

  end(out: AgUiEvent[]): void {
    if (!this.#open) return
    this.#open = false
    out.push(tagged({ type: EventType.TOOL_CALL_END, toolCallId: this.id }, this.message.owner))
  }

  /** Gives the call a result that says it is not run. Contract: for a client tool the result comes before the end of the call, so that the client does not run it. */
  withdraw(out: AgUiEvent[]): ToolMessage | undefined {
    if (this.answered) return void this.end(out)
    this.answered = true
    const { id: toolCallId, message } = this
    const result = { toolCallId, role: 'tool', content: WITHDRAWN } as const
    const messageId = `${toolCallId}:withdrawn`
    if (!this.held) this.end(out)
    out.push(tagged({ type: EventType.TOOL_CALL_RESULT, messageId, ...result }, message.owner))
    this.end(out)
    return { id: messageId, ...result, ...(message.owner !== undefined && { subagentRunId: message.owner }) }
  }
}
