import { EventType, type ToolMessage } from '@ag-ui/core'
import type { AgUiEvent } from '../protocol.ts'
import type { Said } from './said.ts'
import { tagged } from './tag.ts'

const WITHDRAWN = 'The call was withdrawn.'

/** A tool call as the client has it so far. */
export class ShownCall {
  /** As clients know it: a call of a nested run under the calls around it. */
  readonly id: string
  readonly name: string
  readonly said: Said
  /** Its end waits until it is certain that the client may run it. */
  readonly held: boolean
  arguments = ''
  answered = false
  #open = true

  constructor(id: string, name: string, said: Said, held: boolean) {
    this.id = id
    this.name = String(name)
    this.said = said
    this.held = held
    said.calls.set(id, this)
  }

  start(out: AgUiEvent[]): void {
    this.said.pause(out)
    const { id: toolCallId, name: toolCallName, said } = this
    const parentMessageId = said.id
    out.push(tagged({ type: EventType.TOOL_CALL_START, toolCallId, toolCallName, parentMessageId }, said.owner))
  }

  add(delta: string): readonly AgUiEvent[] {
    if (!this.#open) return []
    this.arguments += delta
    return [tagged({ type: EventType.TOOL_CALL_ARGS, toolCallId: this.id, delta }, this.said.owner)]
  }

  /** Adds what was not streamed. Contract: false if the client has something that can only be replaced. */
  complete(given: unknown, out: AgUiEvent[]): boolean {
    const args = typeof given === 'string' ? given : ''
    const shown = this.arguments
    if (args === shown) return true
    if (this.#open && args.startsWith(shown)) {
      for (const event of this.add(args.slice(shown.length))) out.push(event)
      return true
    }
    this.arguments = args
    return false
  }

  end(out: AgUiEvent[]): void {
    if (!this.#open) return
    this.#open = false
    out.push(tagged({ type: EventType.TOOL_CALL_END, toolCallId: this.id }, this.said.owner))
  }

  /** Tells that nobody runs it. Contract: a client hears so before the end of a call that it would run itself. */
  withdraw(out: AgUiEvent[]): ToolMessage | undefined {
    if (this.answered) return void this.end(out)
    this.answered = true
    const { id: toolCallId, said } = this
    const result = { toolCallId, role: 'tool', content: WITHDRAWN } as const
    const messageId = `${toolCallId}:withdrawn`
    if (!this.held) this.end(out)
    out.push(tagged({ type: EventType.TOOL_CALL_RESULT, messageId, ...result }, said.owner))
    this.end(out)
    return { id: messageId, ...result, ...(said.owner !== undefined && { subagentRunId: said.owner }) }
  }
}
