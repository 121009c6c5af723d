import type {
  AgentEvent,
  AgentInput,
  EventOf,
  Json,
  KernelError,
  Message,
  RunInfo,
  ToolCallInput,
  ToolCallRecord,
  ToolCallResult,
} from '@troupe/kernel'
import { UNKNOWN_RESULT } from '@troupe/kernel/history'
import { notJson } from '@troupe/kernel/kit'
import type { RecordedRun } from './recorded-run.ts'
import { identityOf, type RunRecords } from './run-records.ts'

type CallResult = Pick<ToolCallResult, 'content' | 'display' | 'data' | 'error'>

/** Makes tool call rows from callbacks and events. Contract: no I/O; one row per call id, whichever source comes first. */
export class CallRecords {
  readonly #runs: RunRecords
  readonly #now: () => number

  constructor(runs: RunRecords, now: () => number) {
    this.#runs = runs
    this.#now = now
  }

  /** Begins a run; results in its input belong to calls of earlier runs. */
  runStart(info: RunInfo, input: AgentInput): void {
    // The message lifecycle may be called later: the first callback begins the record.
    const run = this.#runs.start(identityOf(info, input))
    run.onPart = this.#part
    const { messages } = input
    for (let i = messages.length - 1; i >= 0; i--) {
      const message = messages[i] as Message
      if (message.role === 'assistant') break
      if (message.role === 'tool') run.calls.answers.set(message.callId, message)
    }
  }

  /** Records the results of earlier calls. Contract: needs the whole history, which only an agent gets. */
  agentStart(info: RunInfo, input: AgentInput): void {
    const run = this.#runs.find(info)
    if (!run) return
    const { calls } = run
    calls.history = input.messages
    // A resumed run also has results of calls that had ended before it.
    if ('answers' in input) return
    for (const [callId, message] of calls.answers) {
      const { content, error } = message
      if (!calls.find(callId)) continue
      calls.answers.delete(callId)
      const status = content === UNKNOWN_RESULT ? 'unknown' : error ? 'failed' : 'complete'
      this.#write(run, callId, undefined, status, resultOf(message))
    }
  }

  readonly #part = (run: RecordedRun, event: AgentEvent): void => {
    switch (event.type) {
      case 'message-end':
        if (event.dropped) return
        for (const { id, name, arguments: args } of event.message.toolCalls ?? []) {
          run.calls.known.set(id, { messageId: event.message.id, name, arguments: args })
        }
        return
      case 'tool-start':
        this.#begin(run, event.callId, event)
        return
      case 'tool-end':
        this.#endFromHistory(run, event)
        return
      case 'run-end':
        for (const { callId } of event.interrupts ?? [])
          if (callId !== undefined) this.#park(run, callId, 'interrupted')
        for (const callId of event.openCallIds ?? []) this.#park(run, callId, 'awaiting')
    }
  }

  start(info: RunInfo, input: ToolCallInput): void {
    const run = this.#runs.find(info)
    if (!run) return
    this.#begin(run, input.callId, input)
    if (input.tool?.longRunning) run.calls.longRunning.add(input.callId)
  }

  end(info: RunInfo, output: ToolCallResult): void {
    const { error } = output
    const { callId } = info
    const run = this.#runs.find(info)
    if (!run || callId === undefined || run.calls.isSettled(callId)) return
    if (error?.code === 'INTERRUPTED') this.#write(run, callId, undefined, 'interrupted')
    else if (!error && run.calls.longRunning.has(callId)) this.#write(run, callId, undefined, 'awaiting')
    else this.#write(run, callId, undefined, error ? 'failed' : 'complete', resultOf(output), output.attempts)
  }

  fail(info: RunInfo, error: KernelError): void {
    const { callId } = info
    const run = this.#runs.find(info)
    if (!run || callId === undefined) return
    this.#write(run, callId, undefined, 'failed', { content: error.message, error: error.toJSON() })
  }

  #begin(run: RecordedRun, callId: string, { name, arguments: args }: Pick<ToolCallInput, 'name' | 'arguments'>): void {
    const { calls, runId } = run
    if (calls.isSettled(callId)) return
    const { messageId = runId } = calls.find(callId) ?? {}
    // The arguments may differ from those of the model: a user may have edited them.
    calls.known.set(callId, { messageId, name, arguments: args })
    if (!calls.rows.has(callId)) this.#write(run, callId, undefined, 'running')
  }

  /** Records the end of a call that had no span, for example because it was refused before it ran. */
  #endFromHistory(run: RecordedRun, event: EventOf<'tool-end'>): void {
    const { callId, name, status } = event
    if (status === 'dropped' || run.calls.isSettled(callId)) return
    this.#write(run, callId, name, status, resultOf(event))
  }

  /** Contract: a call of an earlier run that still waits stays in that run. */
  #park(run: RecordedRun, callId: string, status: 'awaiting' | 'interrupted'): void {
    const { rows, known } = run.calls
    const row = rows.get(callId)
    if (row?.settled || row?.status === status || !known.has(callId)) return
    this.#write(run, callId, undefined, status)
  }

  #write(
    run: RecordedRun,
    callId: string,
    name: string | undefined,
    status: ToolCallRecord['status'],
    result?: CallResult,
    attempts = 1,
  ): void {
    if (run.endedAt !== undefined) return
    const { calls, runId } = run
    const now = this.#now()
    const { startedAt = now } = calls.rows.get(callId) ?? {}
    calls.rows.set(callId, { startedAt, status, settled: result !== undefined })
    this.#runs.addCall(run, {
      callId: calls.prefix + callId,
      runId,
      ...(calls.find(callId) ?? { messageId: runId, name: name ?? '', arguments: '' }),
      status,
      ...(result && { result: safe(result), endedAt: now }),
      ...(Number.isInteger(attempts) && attempts > 1 && { attempts }),
      startedAt,
    })
  }
}

/** Drops fields that are not JSON, so that the row can be written. */
export function safe(result: CallResult): Json {
  return notJson(result) === undefined ? (result as Json) : { content: result.content as Json }
}

/** The part of a result that a row keeps. */
export function resultOf({ content, display, data, error }: CallResult): CallResult {
  return {
    content,
    ...(display !== undefined && { display }),
    ...(data !== undefined && { data }),
    ...(error && { error }),
  }
}
