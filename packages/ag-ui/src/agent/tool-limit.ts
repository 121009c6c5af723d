import type { Additions, AgentEvent, ToolMeta } from '@troupe/kernel'
import { type ExecutionState, toolTimeout } from './execution-state.ts'

/** A call that runs; call ids are unique in their own run only. */
interface RunningCall {
  readonly limit: string
  readonly name: string
  /** The call around the run that it stands in. */
  readonly around: RunningCall | undefined
}

/**
 * Stops a run when one of its tools takes too long.
 * Contract: a tool that runs agents counts from the last that was heard of them; a call that a client answers does not count (`untimed`).
 */
export class ToolLimit {
  readonly #execution: ExecutionState
  readonly #ms: number
  readonly #calls: Map<string, RunningCall> = new Map()
  /** By run: the call around it. */
  readonly #around: Map<string, RunningCall | undefined> = new Map()

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
  #aroundOf({ runId, parentCallId }: AgentEvent): RunningCall | undefined {
    if (this.#around.has(runId)) return this.#around.get(runId)
    let outer = ''
    for (const id of this.#around.keys()) if (runId.startsWith(`${id}/`) && id.length > outer.length) outer = id
    const around = parentCallId === undefined ? undefined : this.#calls.get(keyOf(outer, parentCallId))
    this.#around.set(runId, around)
    return around
  }

  #begin({ limit, name }: RunningCall): void {
    if (this.#calls.has(limit)) this.#execution.limit(limit, this.#ms, () => toolTimeout(name, this.#ms))
  }
}

/** The client's tools, whose calls take no time here. Contract: told by the tool that is called and not by its name, which a tool of the server may have. */
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
