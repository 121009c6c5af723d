import type { Additions, AgentEvent, ToolMeta } from '@troupe/kernel'
import { type ExecutionState, toolTimeout } from './execution-state.ts'

/** A call whose time is limited; `limit` is its key, because call ids are unique only within their run. */
interface TimedCall {
  readonly limit: string
  readonly name: string
  /** The call that its run is nested in. */
  readonly around: TimedCall | undefined
}

/**
 * Stops a run when one of its tools takes too long.
 * Contract: for a tool that runs agents the time starts again with each of their events; a call that a client answers is not timed (`untimed`).
 */
export class ToolLimit {
  readonly #execution: ExecutionState
  readonly #ms: number
  readonly #calls: Map<string, TimedCall> = new Map()
  /** By run id: the call that the run is nested in. */
  readonly #around: Map<string, TimedCall | undefined> = new Map()

  constructor(execution: ExecutionState, ms: number) {
    this.#execution = execution
    this.#ms = ms
  }

  see(event: AgentEvent): void {
    const around = this.#aroundOf(event)
    for (let call = around; call; call = call.around) this.#begin(call)
    if (event.type !== 'tool-start' && event.type !== 'tool-end') return
    const { runId, callId, name } = event
    const limit = keyOf(runId, callId)
    if (event.type === 'tool-end') {
      this.#calls.delete(limit)
      this.#execution.unlimit(limit)
    } else {
      const call = { limit, name, around }
      this.#calls.set(limit, call)
      this.#begin(call)
    }
  }

  /** The id of a nested run begins with that of the run around it. */
  #aroundOf({ runId, parentCallId }: AgentEvent): TimedCall | undefined {
    if (this.#around.has(runId)) return this.#around.get(runId)
    let outer = ''
    for (const id of this.#around.keys()) if (runId.startsWith(`${id}/`) && id.length > outer.length) outer = id
    const around = parentCallId === undefined ? undefined : this.#calls.get(keyOf(outer, parentCallId))
    this.#around.set(runId, around)
    return around
  }

  #begin({ limit, name }: TimedCall): void {
    if (this.#calls.has(limit)) this.#execution.limit(limit, this.#ms, () => toolTimeout(name, this.#ms))
  }
}

/** The client's tools, whose calls are not timed. Contract: recognised by the tool itself, not by its name, which a tool of the server may share. */
export function untimed(additions: Additions | undefined, execution: ExecutionState): Additions {
  const tools = additions?.tools?.map(
    ({ tool, ...meta }): ToolMeta => ({
      ...meta,
      tool: { ...tool, invoke: (_, { runId }, { callId }) => execution.unlimit(keyOf(runId, callId)) },
    }),
  )
  return { ...additions, ...(tools && { tools }) }
}

function keyOf(runId: string, callId: string): string {
  return `${runId}\0${callId}`
}
