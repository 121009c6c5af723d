import type { RunAgentInput } from '@ag-ui/core'
import {
  type AgentEvent,
  type JsonObject,
  KernelError,
  type Owner,
  type Runner,
  type Sink,
  type Thread,
  type ThreadRef,
} from '@troupe/kernel'
import { got, pipe, sinkTo } from '@troupe/kernel/kit'
import { parseRunAgentInput } from '../input/parse-run-input.ts'
import type { AgUiEvent, Translator } from '../protocol.ts'
import { pastHolds, runningIn } from '../session/thread-hold.ts'
import { eventTranslator } from '../translate/event-translator.ts'
import { runError } from '../translate/run-error.ts'
import { runWriter } from '../write/run-writer.ts'
import type { AgUiAgentParts, AgUiRunOptions } from './ag-ui-agent.ts'
import { bareRun } from './bare-run.ts'
import { clientError, type RunPhase } from './client-error.ts'
import { ExecutionState, executionTimeout } from './execution-state.ts'
import { OrderedSink } from './ordered-sink.ts'
import { ownerOf } from './owner-of.ts'
import { changedState, foreignIds, planRun, type RunPlan, unknownCall } from './run-plan.ts'
import { startPlanned } from './start-planned.ts'
import { storedMessages } from './stored-messages.ts'
import { ToolLimit } from './tool-limit.ts'

type Show = (events: readonly AgUiEvent[]) => void | Promise<void>
type PlanOf<Kind extends RunPlan['kind']> = Extract<RunPlan, { kind: Kind }>

/** One request on its way through an AgUiAgent. */
export class AgentRun {
  readonly #parts: AgUiAgentParts
  readonly #value: unknown
  readonly #options: AgUiRunOptions
  #phase: RunPhase = 'input'
  #execution: ExecutionState | undefined
  #left: KernelError | undefined

  constructor(parts: AgUiAgentParts, value: unknown, options: AgUiRunOptions) {
    this.#parts = parts
    this.#value = value
    this.#options = options
  }

  /** Stops the run because its reader has left. */
  leave(): void {
    this.#left = new KernelError('ABORTED', 'run: the reader has left')
    this.#execution?.stop(this.#left)
  }

  /** Writes the events of the run. Contract: rejects only if the sink does. */
  async produce(sink: Sink<AgUiEvent>): Promise<void> {
    const writer = runWriter()
    const ordered = new OrderedSink(sink)
    const show: Show = (events) => ordered.write(writer.writeAll(events))
    try {
      await this.#serve(sink, show)
      await ordered.write(writer.end())
    } catch (cause) {
      if (sink.closed) return
      const error = KernelError.from(cause)
      const more = { ...this.#requestId, ...holderOf(error), retryable: error.retryable }
      await ordered.write(writer.end(runError(this.#toClientError(error), more)))
    }
  }

  async #serve(sink: Sink<AgUiEvent>, show: Show): Promise<void> {
    const { clock, executions, executionTimeoutMs, options } = this.#parts
    const input = parseRunAgentInput(this.#value, options.limits)
    this.#phase = 'setup'
    const owner = this.#options.owner ?? (await ownerOf(options, input))
    const ref = { app: owner.app, user: owner.user, threadId: input.threadId }
    const execution = new ExecutionState(ref, input.runId, clock, this.#options.signal)
    this.#execution = execution
    try {
      if (this.#left) throw this.#left
      executions.enter(execution)
      execution.limit('run', executionTimeoutMs, () => executionTimeout(executionTimeoutMs))
      await this.#execute(input, execution, sink, show)
    } finally {
      execution[Symbol.dispose]()
      executions.leave(execution)
    }
  }

  async #execute(input: RunAgentInput, execution: ExecutionState, sink: Sink<AgUiEvent>, show: Show): Promise<void> {
    const { ref } = execution
    let name = ''
    try {
      const runner = await execution.within(this.#runnerOf(input, ref))
      name = runner.agent.name
      const { thread, done } = await execution.within(this.#read(input, ref))
      const plan = await execution.within(this.#plan(input, ref, thread, done))
      if (plan.kind === 'nothing') {
        await execution.within(this.#markProcessed(plan, ref, thread))
        const state = thread?.state ?? stateOf(input)
        await show(bareRun(this.#translator(input, state), input, name, thread))
        return
      }
      const state = changedState(thread?.state ?? {}, plan.kind === 'run' ? plan.input.state : plan.change)
      const start = await startPlanned(this.#parts, { input, plan, thread, runner, execution })
      const onEvent = this.#onEvent(this.#translator(input, state), execution, show)
      await pastHolds(this.#parts.clock, async () => {
        const run = start()
        await pipe(run.eventsWithoutThrowing(), sinkTo(sink, onEvent))
        // A run that never began has no events; awaiting it throws the reason.
        if (this.#phase !== 'run') await run
      })
    } catch (error) {
      if (this.#phase === 'run' || !isCancelled(execution.signal)) throw error
      await show(bareRun(this.#translator(input, stateOf(input)), input, name, undefined, true))
    }
  }

  /** Makes the function that checks, translates and shows each event of the run. */
  #onEvent(translator: Translator, execution: ExecutionState, show: Show): (event: AgentEvent) => void | Promise<void> {
    const limit = new ToolLimit(execution, this.#parts.toolTimeoutMs)
    return (event) => {
      this.#phase = 'run'
      limit.see(event)
      return show(translator.translate(event))
    }
  }

  async #runnerOf(input: RunAgentInput, owner: Owner): Promise<Runner> {
    const { runner, resolveRunner } = this.#parts.options
    // The constructor has checked that one of them is given.
    return (await resolveRunner?.(input, owner)) ?? (runner as Runner)
  }

  async #read(
    input: RunAgentInput,
    ref: ThreadRef,
  ): Promise<{ readonly thread: Thread | undefined; readonly done: ReadonlySet<string> }> {
    const { sessions } = this.#parts
    const [thread, done] = await Promise.all([
      sessions.getSession(ref),
      sessions.getProcessedMessageIds(ref, foreignIds(input)),
    ])
    return { thread, done }
  }

  async #plan(
    input: RunAgentInput,
    ref: ThreadRef,
    thread: Thread | undefined,
    done: ReadonlySet<string>,
  ): Promise<RunPlan> {
    const { clock, hidden, options } = this.#parts
    const { toolResults = 'text', store } = options
    const stored = thread ? await storedMessages(store.threads, ref, input, done) : new Set<string>()
    this.#phase = 'input'
    const plan = planRun({ input, thread, done, stored, now: clock.now(), hidden, toolResults })
    this.#phase = 'setup'
    if (plan.kind !== 'nothing' || plan.notOpen.length === 0) return plan
    const callId = await unknownCall(store.threads, ref, plan.notOpen)
    if (callId === undefined) return plan
    throw new KernelError(
      'TOOL_CALL_UNKNOWN',
      `run: expected the result of a tool call of this thread, ${got(callId)}`,
      {
        details: { callId, open: thread?.openCalls.map((call) => call.callId) ?? [] },
      },
    )
  }

  /** Marks the messages of a request that starts no run as processed. */
  async #markProcessed({ processed }: PlanOf<'nothing'>, ref: ThreadRef, thread: Thread | undefined): Promise<void> {
    if (!thread || processed.length === 0) return
    try {
      await this.#parts.sessions.markMessagesProcessed(ref, processed)
    } catch (error) {
      // The next request brings them again.
      if (!KernelError.is(error, 'THREAD_BUSY')) throw error
    }
  }

  #translator(input: RunAgentInput, state: JsonObject): Translator {
    const { hidden, report } = this.#parts
    const { threadId, runId, parentRunId } = input
    return eventTranslator({
      threadId,
      runId,
      ...(parentRunId !== undefined && { parentRunId }),
      input,
      state,
      hidden,
      clientTools: namesOf(input),
      publicError: (error) => this.#toClientError(KernelError.from(error)),
      ...this.#requestId,
      report: (error) => report(error, this.#requestId),
    })
  }

  /** Turns an error into the one that the client gets; reports errors of a run, and those whose text is withheld. */
  #toClientError(error: KernelError): { readonly code: string; readonly message: string } {
    const shown = clientError(error, this.#phase)
    if (KernelError.is(shown)) this.#parts.report(shown, this.#requestId)
    else if (this.#phase === 'run') this.#parts.report(error, this.#requestId)
    return { code: shown.code, message: shown.message }
  }

  get #requestId(): { readonly requestId?: string } {
    const { requestId } = this.#options
    return requestId === undefined ? {} : { requestId }
  }
}

/** The run that holds a busy thread, taken from the error: by the time the store is asked, that run may be over. */
function holderOf(error: KernelError): { readonly holder?: string } {
  const holder = KernelError.is(error, 'THREAD_BUSY') ? runningIn(error.details) : undefined
  return holder === undefined ? {} : { holder }
}

/** The client's own state, used if there is no thread. */
function stateOf({ state }: RunAgentInput): JsonObject {
  return (state ?? {}) as JsonObject
}

function namesOf({ tools }: RunAgentInput): ReadonlySet<string> {
  return new Set(tools.map(({ name }) => name))
}

/** Whether the run was cancelled on request, not by a time limit. */
function isCancelled({ aborted, reason }: AbortSignal): boolean {
  if (!aborted) return false
  return KernelError.is(reason)
    ? reason.code === 'ABORTED'
    : (reason as { name?: unknown } | undefined)?.name !== 'TimeoutError'
}
