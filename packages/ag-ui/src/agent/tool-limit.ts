import { type Additions, type AgentEvent, type Clock, KernelError, type ToolMeta } from '@troupe/kernel'

/** A call whose time is limited; call ids are unique only within their run. */
interface TimedCall {
  readonly name: string
  /** The call that its run is nested in. */
  readonly around: TimedCall | undefined
  /** Undefined once the call has ended. */
  cancelTimer: (() => void) | undefined
}

/**
 * Stops a run when one of its tools takes too long.
 * Contract: for a tool that runs agents the time starts again with each of their events; a call that a client answers is not timed (`untimed`).
 */
export class ToolLimit implements Disposable {
  readonly #clock: Clock
  readonly #ms: number
  readonly #stop: (reason: KernelError) => void
  readonly #calls: Map<string, TimedCall> = new Map()

  constructor(clock: Clock, ms: number, stop: (reason: KernelError) => void) {
    this.#clock = clock
    this.#ms = ms
    this.#stop = stop
  }

  see(event: AgentEvent): void {
    const { runId, parentRunId, parentCallId } = event
    const around = parentCallId === undefined ? undefined : this.#calls.get(keyOf(parentRunId, parentCallId))
    for (let call = around; call; call = call.around) this.#startTimer(call)
    if (event.type === 'tool-start') {
      const call: TimedCall = { name: event.name, around, cancelTimer: () => {} }
      this.#calls.set(keyOf(runId, event.callId), call)
      this.#startTimer(call)
    } else if (event.type === 'tool-end') this.#end(keyOf(runId, event.callId))
  }

  /** The client's tools, whose calls are not timed. Contract: recognised by the tool itself, not by its name, which a tool of the server may share. */
  untimed(additions: Additions | undefined): Additions {
    const tools = additions?.tools?.map(
      ({ tool, ...meta }): ToolMeta => ({
        ...meta,
        tool: {
          ...tool,
          // Not recorded as a step, so that a run that is continued stops the time of the call again.
          effect: 'nested',
          invoke: (_, { runId }, { callId }) => this.#end(keyOf(runId, callId)),
        },
      }),
    )
    return { ...additions, ...(tools && { tools }) }
  }

  [Symbol.dispose](): void {
    for (const key of [...this.#calls.keys()]) this.#end(key)
  }

  #startTimer(call: TimedCall): void {
    if (!call.cancelTimer) return
    call.cancelTimer()
    call.cancelTimer = this.#clock.after(this.#ms, () => this.#stop(timeout(call, this.#ms)))
  }

  #end(key: string): void {
    const call = this.#calls.get(key)
    if (!call) return
    call.cancelTimer?.()
    call.cancelTimer = undefined
    this.#calls.delete(key)
  }
}

function timeout({ name }: TimedCall, ms: number): KernelError {
  return new KernelError('TOOL_TIMEOUT', `tool ${name}: exceeded its time limit of ${ms} ms`)
}

function keyOf(runId: string | undefined, callId: string): string {
  return `${runId}\0${callId}`
}
