import type { Message, ToolCallRecord, ToolMessage } from '@troupe/kernel'

/** The part of a call's row that the model wrote. */
type KnownCall = Pick<ToolCallRecord, 'messageId' | 'name' | 'arguments'>

/** The tool calls of one run. */
export class RunCalls {
  /** The prefix of their ids in records, if the run is nested, because two runs may use the same call id. */
  prefix = ''
  /** The history that the run began with. */
  history: readonly Message[] = []
  /** The calls of this run, and those of earlier runs that were looked up. */
  readonly known: Map<string, KnownCall> = new Map()
  /** By call id: the last written state of the calls with a row in this run; a settled one has its result. */
  readonly rows: Map<string, Pick<ToolCallRecord, 'startedAt' | 'status'> & { readonly settled: boolean }> = new Map()
  readonly longRunning: Set<string> = new Set()
  /** Results for calls of earlier runs. */
  readonly answers: Map<string, ToolMessage> = new Map()

  isSettled(callId: string): boolean {
    return this.rows.get(callId)?.settled === true
  }

  /** Finds a call of this run, or of an earlier run in the history. */
  find(callId: string): KnownCall | undefined {
    const known = this.known.get(callId) ?? this.#inHistory(callId)
    if (known) this.known.set(callId, known)
    return known
  }

  #inHistory(callId: string): KnownCall | undefined {
    for (let i = this.history.length - 1; i >= 0; i--) {
      const message = this.history[i] as Message
      if (message.role !== 'assistant') continue
      const call = message.toolCalls?.find(({ id }) => id === callId)
      if (call) return { messageId: message.id, name: call.name, arguments: call.arguments }
    }
    return undefined
  }
}
