import {
  type AgentEvent,
  type AgentInput,
  type ErrorInfo,
  type EventOf,
  type KernelError,
  type ModelCallRecord,
  type ModelResult,
  type Outcome,
  type RecordCommand,
  type RunInfo,
  type RunResult,
  type ToolCallRecord,
  textOf,
  type Usage,
} from '@troupe/kernel'
import { RecordedRun, type RunIdentity } from './recorded-run.ts'
import { runKey } from './thread-key.ts'

/** Receives record commands. */
interface CommandSink {
  /** A run begins. Contract: before anything else of it. */
  enter(run: RecordedRun): void
  /** Adds a command. Contract: in order; new text of the run goes first. */
  add(run: RecordedRun, command: RecordCommand): void
  /** The text of a run has changed. */
  touch(run: RecordedRun): void
}

/** The end of an attempt while another one, in the same process, goes on with the run. */
const REPLACED: ErrorInfo = { code: 'LEASE_LOST', message: 'run: another attempt goes on with it' }

/** Holds the recorded runs and makes their record commands from callbacks. Contract: no I/O; ignores unknown and ended runs. */
export class RunRecords {
  readonly #sink: CommandSink
  readonly #now: () => number
  readonly #runs: Map<string, RecordedRun> = new Map()
  /** The kernel passes the same info with all parts of a run; a key of text for each delta takes 0.36 µs, as long as the delta itself. */
  readonly #byInfo: WeakMap<RunInfo, RecordedRun> = new WeakMap()

  constructor(sink: CommandSink, now: () => number) {
    this.#sink = sink
    this.#now = now
  }

  start(identity: RunIdentity): RecordedRun {
    const { ref, runId, parentRunId, agentName } = identity
    const key = runKey(ref, runId)
    const before = this.#runs.get(key)
    if (before) {
      if (before.attempt === identity.attempt) return before
      this.finish(before, 'failed', REPLACED)
    }
    const parent = parentRunId === undefined ? undefined : this.#runs.get(runKey(ref, parentRunId))
    const startedAt = this.#now()
    const run = new RecordedRun(identity, parent, startedAt)
    this.#runs.set(key, run)
    this.#sink.enter(run)
    const row = { runId, ...(parentRunId !== undefined && { parentRunId }), agentName, startedAt }
    this.#sink.add(run, { type: 'run-start', run: row })
    return run
  }

  /** Finds the message that a run answers which began without one: a run that is continued or resumed has it in its history. */
  agentStart(info: RunInfo, { messages }: AgentInput): void {
    const run = this.find(info)
    if (!run || run.requestId !== undefined) return
    const request = messages.findLast((message) => message.role === 'user' && message.agentName === undefined)
    if (request) run.requestId = request.id
  }

  /** The run of an info, if it has not ended. */
  find(info: RunInfo): RecordedRun | undefined {
    const run = this.#runs.get(runKey(info.session, info.runId))
    return run?.attempt === info.attempt ? run : undefined
  }

  readonly part = (info: RunInfo, event: AgentEvent): void => {
    const run = this.#byInfo.get(info) ?? this.#remember(info)
    if (!run || run.endedAt !== undefined) return
    if (event.type !== 'text-delta') this.#structuralEvent(run, event)
    else if (run.text.append(event.messageId, event.delta)) this.#sink.touch(run)
  }

  #remember(info: RunInfo): RecordedRun | undefined {
    const run = this.find(info)
    if (run) this.#byInfo.set(info, run)
    return run
  }

  #structuralEvent(run: RecordedRun, event: AgentEvent): void {
    run.onPart?.(run, event)
    switch (event.type) {
      case 'run-start':
        if (event.origin !== undefined) run.calls.prefix = `${event.origin}/`
        return
      case 'message-start':
        run.text.begin(event.messageId)
        return
      case 'message-end': {
        const { message, dropped } = event
        this.#count(run, event)
        const text = dropped ? '' : textOf(message.content)
        if (text !== '' && run.text.settle(message.id, text)) this.#sink.touch(run)
        return
      }
      case 'run-end':
        run.lastEvent = event
    }
  }

  append(run: RecordedRun, delta: string): void {
    if (run.endedAt === undefined && run.text.append(run.runId, delta)) this.#sink.touch(run)
  }

  modelStart(info: RunInfo): void {
    const run = this.find(info)
    if (run) run.openModels++
  }

  /** Contract: the tokens of a message are counted once, by its model call if it has one. */
  modelEnd(info: RunInfo, result?: ModelResult): void {
    const run = this.find(info)
    if (!run) return
    run.openModels--
    if (!result) return
    run.unclaimed.delete(result.message.id)
    if (run.counted.has(result.message.id)) return
    const { message, model, usage, finishReason } = result
    run.counted.add(message.id)
    this.usage(run, { spanId: info.spanId, model, usage, finishReason, messageId: message.id })
  }

  usage(run: RecordedRun, call: Omit<ModelCallRecord, 'runId' | 'requestId'>): void {
    if (run.endedAt !== undefined) return
    const { runId, requestId } = run
    const usage = countable(call.usage)
    run.addUsage(usage)
    this.#sink.add(run, { type: 'usage', ...call, usage, runId, ...(requestId !== undefined && { requestId }) })
  }

  /** Contract: the first end counts. */
  end(info: RunInfo, result: RunResult): void {
    const run = this.find(info)
    if (!run) return
    const { outcome, error, text, usage } = run.lastEvent ?? result
    run.total = countable(usage)
    this.finish(run, outcome, error, text)
  }

  fail(info: RunInfo, error: KernelError): void {
    const run = this.find(info)
    if (!run) return
    const { lastEvent: end } = run
    if (end) run.total = countable(end.usage)
    if (end) this.finish(run, end.outcome, end.error, end.text)
    else this.finish(run, 'failed', error.toJSON())
  }

  /** Ends a run; `text` is the whole answer, if it is known to be complete. */
  finish(run: RecordedRun, outcome: Outcome, error?: ErrorInfo, text?: string): void {
    if (run.endedAt !== undefined) return
    for (const message of run.unclaimed.values()) this.#countMessage(run, message)
    if (outcome === 'complete' && text !== undefined && run.text.replace(text)) this.#sink.touch(run)
    const { runId, ref, usage } = run
    const endedAt = this.#now()
    run.status = outcome
    run.error = error
    run.endedAt = endedAt
    run.parent?.addUsage(usage)
    this.#runs.delete(runKey(ref, runId))
    this.#sink.add(run, { type: 'run-finish', runId, status: outcome, usage, ...(error && { error }), endedAt })
  }

  addCall(run: RecordedRun, call: ToolCallRecord): void {
    this.#sink.add(run, { type: 'tool-call', call })
  }

  #count(run: RecordedRun, event: EventOf<'message-end'>): void {
    const { id } = event.message
    if (!event.usage || run.counted.has(id)) return
    if (run.openModels > 0) run.unclaimed.set(id, event)
    else this.#countMessage(run, event)
  }

  /** Counts the tokens of a message that has no model call. */
  #countMessage(run: RecordedRun, { message: { id }, usage, finishReason }: EventOf<'message-end'>): void {
    if (!usage) return
    run.counted.add(id)
    this.usage(run, { spanId: id, model: '', messageId: id, usage, ...(finishReason && { finishReason }) })
  }
}

/** The identity of a run, from its span. */
export function identityOf(
  { session, runId, name, parentRunId, attempt }: RunInfo,
  { messages }: AgentInput,
): RunIdentity {
  const request = messages.at(-1)
  return {
    ref: session,
    runId,
    agentName: name,
    ...(parentRunId !== undefined && { parentRunId }),
    ...(request && { requestId: request.id }),
    ...(attempt !== undefined && { attempt }),
  }
}

/** Corrects invalid counts, so that the record can be written. */
function countable(usage: Usage): Usage {
  const { inputTokens, outputTokens, reasoningTokens, cachedInputTokens, cacheWriteTokens, cost } = usage
  return {
    inputTokens: whole(inputTokens),
    outputTokens: whole(outputTokens),
    ...(reasoningTokens !== undefined && { reasoningTokens: whole(reasoningTokens) }),
    ...(cachedInputTokens !== undefined && { cachedInputTokens: whole(cachedInputTokens) }),
    ...(cacheWriteTokens !== undefined && { cacheWriteTokens: whole(cacheWriteTokens) }),
    ...(cost !== undefined && { cost: Number.isFinite(cost) && cost > 0 ? cost : 0 }),
  }
}

function whole(count: number): number {
  return Number.isFinite(count) && count > 0 ? Math.round(count) : 0
}
