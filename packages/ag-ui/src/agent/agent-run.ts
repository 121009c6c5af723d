import type { RunAgentInput } from '@ag-ui/core'
import {
  type AgentEvent,
  got,
  type JsonObject,
  KernelError,
  type Owner,
  pipe,
  type Runner,
  type Sink,
  sinkTo,
  type Thread,
  type ThreadRef,
} from '@troupe/kernel'
import { parseRunAgentInput } from '../input/parse-run-input.ts'
import type { AgUiEvent, Translator } from '../protocol.ts'
import { pastHolds, runningIn } from '../session/thread-hold.ts'
import { eventTranslator } from '../translate/event-translator.ts'
import { runError } from '../translate/run-error.ts'
import { runWriter } from '../write/run-writer.ts'
import type { AgUiAgentParts, AgUiRunOptions } from './ag-ui-agent.ts'
import { bareRun } from './bare-run.ts'
import { ExecutionState, executionTimeout } from './execution-state.ts'
import { Outlet } from './outlet.ts'
import { ownerOf } from './owner-of.ts'
import { type ErrorPlace, toldError } from './public-error.ts'
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
  #place: ErrorPlace = 'input'
  #execution: ExecutionState | undefined
  #left: KernelError | undefined

  constructor(parts: AgUiAgentParts, value: unknown, options: AgUiRunOptions) {
    this.#parts = parts
    this.#value = value
    this.#options = options
  }

  /** Stops it, because nobody reads any more. */
  leave(): void {
    this.#left = new KernelError('ABORTED', 'run: the reader has left')
    this.#execution?.stop(this.#left)
  }

  /** Contract: rejects only where the sink does. */
  async produce(sink: Sink<AgUiEvent>): Promise<void> {
    const writer = runWriter()
    const outlet = new Outlet(sink)
    const show: Show = (events) => outlet.write(writer.writeAll(events))
    try {
      await this.#serve(sink, show)
      await outlet.write(writer.end())
    } catch (cause) {
      if (sink.closed) return
      const error = KernelError.from(cause)
      const more = { ...this.#requestId, ...holderOf(error), retryable: error.retryable }
      await outlet.write(writer.end(runError(this.#tell(error), more)))
    }
  }

  async #serve(sink: Sink<AgUiEvent>, show: Show): Promise<void> {
    const { clock, executions, executionTimeoutMs, options } = this.#parts
    const input = parseRunAgentInput(this.#value, options.limits)
    this.#place = 'outside'
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
        await execution.within(this.#note(plan, ref, thread))
        const state = thread?.state ?? stateOf(input)
        await show(bareRun(this.#translator(input, state), input, name, thread))
        return
      }
      const state = changedState(thread?.state ?? {}, plan.kind === 'run' ? plan.input.state : plan.change)
      const start = await startPlanned(this.#parts, { input, plan, thread, runner, execution })
      const see = this.#seeing(this.#translator(input, state), execution, show)
      await pastHolds(this.#parts.clock, async () => {
        const run = start()
        await pipe(run.eventsWithoutThrowing(), sinkTo(sink, see))
        // A run that never began has shown nothing, and says why to those who await it.
        if (this.#place !== 'run') await run
      })
    } catch (error) {
      if (this.#place === 'run' || !isCancelled(execution.signal)) throw error
      await show(bareRun(this.#translator(input, stateOf(input)), input, name, undefined, true))
    }
  }

  /** What becomes of each event of the run. */
  #seeing(translator: Translator, execution: ExecutionState, show: Show): (event: AgentEvent) => void | Promise<void> {
    const limit = new ToolLimit(execution, this.#parts.toolTimeoutMs)
    return (event) => {
      this.#place = 'run'
      limit.see(event)
      return show(translator.translate(event))
    }
  }

  async #runnerOf(input: RunAgentInput, owner: Owner): Promise<Runner> {
    const { runner, resolveRunner } = this.#parts.options
    // One of them is there: the options were checked.
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
    this.#place = 'input'
    const plan = planRun({ input, thread, done, stored, now: clock.now(), hidden, toolResults })
    this.#place = 'outside'
    if (plan.kind !== 'nothing' || plan.notOpen.length === 0) return plan
    const callId = await unknownCall(store.threads, ref, plan.notOpen)
    if (callId === undefined) return plan
    throw new KernelError('TOOL_CALL_UNKNOWN', `run: this thread has made no such call, ${got(callId)}`, {
      details: { callId, open: thread?.openCalls.map((call) => call.callId) ?? [] },
    })
  }

  /** Marks what a request without anything to run has brought. */
  async #note({ processed }: PlanOf<'nothing'>, ref: ThreadRef, thread: Thread | undefined): Promise<void> {
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
      publicError: (error) => this.#tell(KernelError.from(error)),
      ...this.#requestId,
      report: (error) => report(error, this.#requestId),
    })
  }

  /** What the client may know; what happened in a run, and what is kept back, is reported. */
  #tell(error: KernelError): { readonly code: string; readonly message: string } {
    const told = toldError(error, this.#place)
    if (KernelError.is(told)) this.#parts.report(told, this.#requestId)
    else if (this.#place === 'run') this.#parts.report(error, this.#requestId)
    return { code: told.code, message: told.message }
  }

  get #requestId(): { readonly requestId?: string } {
    const { requestId } = this.#options
    return requestId === undefined ? {} : { requestId }
  }
}

/** The run that a busy thread is held by; it may be over when somebody asks the store. */
function holderOf(error: KernelError): { readonly holder?: string } {
  const holder = KernelError.is(error, 'THREAD_BUSY') ? runningIn(error.details) : undefined
  return holder === undefined ? {} : { holder }
}

/** What a client has, where the thread has nothing else to say. */
function stateOf({ state }: RunAgentInput): JsonObject {
  return (state ?? {}) as JsonObject
}

function namesOf({ tools }: RunAgentInput): ReadonlySet<string> {
  return new Set(tools.map(({ name }) => name))
}

/** Whether somebody wants the run stopped, and no limit has stopped it. */
function isCancelled({ aborted, reason }: AbortSignal): boolean {
  if (!aborted) return false
  return KernelError.is(reason)
    ? reason.code === 'ABORTED'
    : (reason as { name?: unknown } | undefined)?.name !== 'TimeoutError'
}
