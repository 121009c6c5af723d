import type { RunAgentInput } from '@ag-ui/core'
import {
  type AgentEvent,
  type ForkPoint,
  type JsonObject,
  KernelError,
  type Message,
  type Owner,
  type Runner,
  type Sink,
  type Thread,
  type ThreadRef,
} from '@troupe/kernel'
import { pipe, sinkTo, untilAborted } from '@troupe/kernel/kit'
import { selectedTools } from '../client-tools/client-tool-options.ts'
import { parseRunAgentInput, roomFor } from '../input/parse-run-agent-input.ts'
import { lostRunOf } from '../lost/lost-runs.ts'
import { storedHistory } from '../lost/stored-history.ts'
import type { AgUiEvent } from '../protocol.ts'
import { ExecutionState } from '../run/execution-state.ts'
import { EXECUTION_MS, type Executions, executionTimeout } from '../run/executions.ts'
import type { AgUiRunOptions } from '../run/served-agent.ts'
import { pastHolds, runningIn } from '../session/thread-holds.ts'
import type { AgentSettings } from './agent-settings.ts'
import { replacedBy } from './asked-again.ts'
import { bareRun } from './bare-run.ts'
import { givenBy } from './given-messages.ts'
import { OrderedSink } from './ordered-sink.ts'
import { ownerOf } from './owner-of.ts'
import { newestMessages, type Place, placeInThread } from './place-in-thread.ts'
import { changedState, checkCalls, foreignIds, planRun, type RunPlan, runIdTaken } from './run-plan.ts'
import { RunReply } from './run-reply.ts'
import { startPlanned } from './start-planned.ts'
import { storedMessages } from './stored-messages.ts'
import { ToolLimit } from './tool-limit.ts'

/** What a request finds of its thread. */
interface ThreadView {
  readonly thread: Thread | undefined
  /** Which of the ids of the request were processed before. */
  readonly done: ReadonlySet<string>
  readonly newest: Awaited<ReturnType<typeof newestMessages>>
}

/** One request on its way through an AgUiAgent. */
export class AgentRun {
  readonly #settings: AgentSettings
  readonly #executions: Executions
  readonly #value: unknown
  readonly #options: AgUiRunOptions
  readonly #reply: RunReply
  #execution: ExecutionState | undefined
  #producing: Promise<void> | undefined
  #left: KernelError | undefined

  constructor(settings: AgentSettings, executions: Executions, value: unknown, options: AgUiRunOptions) {
    this.#settings = settings
    this.#executions = executions
    this.#value = value
    this.#options = options
    this.#reply = new RunReply(settings, options.requestId, 'input')
  }

  /** Stops the run because its reader has left, and waits for its end. */
  async leave(): Promise<void> {
    this.#left = new KernelError('ABORTED', 'run: the reader has left')
    this.#execution?.stop(this.#left)
    await this.#producing
  }

  /** Writes the events of the run. Contract: rejects only if the sink does. */
  produce(sink: Sink<AgUiEvent>): Promise<void> {
    this.#producing = this.#produce(sink)
    return this.#producing
  }

  async #produce(sink: Sink<AgUiEvent>): Promise<void> {
    const out = new OrderedSink(sink)
    try {
      await this.#serve(sink, out)
      await out.write(this.#reply.end())
    } catch (cause) {
      if (!sink.closed) await out.write(this.#reply.fail(cause, holderOf))
    }
  }

  async #serve(sink: Sink<AgUiEvent>, out: OrderedSink): Promise<void> {
    const settings = this.#settings
    const { signal, owner: given, execution: entry } = this.#options
    const { limits, clientTools } = settings
    const refuse = ({ message }: KernelError) => void this.#reply.refusedTools.push(message)
    const sent = parseRunAgentInput(this.#value, limits, refuse)
    this.#reply.phase = 'setup'
    const owner = given ?? (await ownerOf(settings, sent))
    const input = { ...sent, tools: selectedTools(clientTools, sent.tools, owner, refuse) }
    const ref = { app: owner.app, user: owner.user, threadId: input.threadId }
    const execution = entry ?? new ExecutionState(ref, input.runId, settings.clock.now())
    using _caller = signal && signal !== execution.signal ? execution.stopWith(signal) : undefined
    this.#execution = execution
    try {
      if (this.#left) throw this.#left
      this.#executions.enter(execution)
      await this.#execute(input, ref, execution, sink, out)
    } finally {
      if (!entry) execution.end()
    }
  }

  async #execute(
    input: RunAgentInput,
    ref: ThreadRef,
    execution: ExecutionState,
    sink: Sink<AgUiEvent>,
    out: OrderedSink,
  ): Promise<void> {
    const { clock, executionTimeoutMs: limitMs = EXECUTION_MS, toolTimeoutMs } = this.#settings
    const { signal } = execution
    // From its start on, the Runner limits the time of the run.
    const cancelTimer = clock.after(limitMs, () => execution.stop(executionTimeout(limitMs)))
    using limit = new ToolLimit(clock, toolTimeoutMs, (reason) => execution.stop(reason))
    let name = ''
    try {
      const runner = await untilAborted(signal, this.#runnerOf(input, ref))
      name = runner.agent.name
      const { thread, done, newest } = await untilAborted(signal, this.#read(input, ref))
      if (thread?.unfinished === input.runId) throw runIdTaken(input)
      const plan = await untilAborted(signal, this.#plan(input, ref, { thread, done, newest }))
      if (plan.kind === 'nothing') {
        await untilAborted(signal, this.#markProcessed(plan.processed, ref, thread))
        const state = thread?.state ?? stateOf(input)
        const translator = this.#reply.translate(input, state, () => this.#history(input, ref, []))
        await this.#reply.write(out, bareRun(translator, input, name, thread))
        return
      }
      const found = await untilAborted(signal, this.#cut(plan, thread))
      const state = changedState(found?.state ?? {}, plan.kind === 'run' ? plan.input.state : plan.change)
      const start = await startPlanned(this.#settings, {
        input,
        ref,
        plan,
        thread: found,
        runner,
        signal,
        limit,
        prepare: this.#options.prepare,
      })
      const given = givenBy(plan, found)
      const takesBack = plan.kind === 'run' && plan.takesBack
      const translator = this.#reply.translate(input, state, () => this.#history(input, ref, given))
      cancelTimer()
      await pastHolds(clock, async () => {
        const run = start()
        const onEvent = sinkTo<AgentEvent>(sink, (event) => {
          const begins = this.#reply.phase !== 'run'
          this.#reply.phase = 'run'
          limit.see(event)
          const events = translator.translate(event)
          return this.#reply.write(out, begins && takesBack ? [...events, ...translator.snapshot()] : events)
        })
        await pipe(run.eventsWithoutThrowing(), onEvent)
        // A run that never began has no events; awaiting it throws the reason.
        if (this.#reply.phase !== 'run') await run
      })
    } catch (error) {
      if (this.#reply.phase === 'run' || !isCancelled(signal)) throw error
      await out.write(bareRun(this.#reply.translate(input, stateOf(input), []), input, name, undefined, true))
    } finally {
      cancelTimer()
    }
  }

  async #runnerOf(input: RunAgentInput, owner: Owner): Promise<Runner> {
    const { runner, resolveRunner } = this.#settings
    // The constructor has checked that one of them is given.
    return (await resolveRunner?.(input, owner)) ?? (runner as Runner)
  }

  async #read(input: RunAgentInput, ref: ThreadRef): Promise<ThreadView> {
    const { sessions, store } = this.#settings
    const [thread, done, newest] = await Promise.all([
      sessions.getSession(ref),
      sessions.getProcessedMessageIds(ref, foreignIds(input)),
      newestMessages(store.threads, ref),
    ])
    return { thread, done, newest }
  }

  async #plan(input: RunAgentInput, ref: ThreadRef, { thread, done, newest }: ThreadView): Promise<RunPlan> {
    const { clock, store, limits, edits } = this.#settings
    const stored = thread ? await storedMessages(store.threads, ref, input, done) : new Set<string>()
    const isNew = ({ id, role }: { id: string; role: string }) => role === 'user' && !done.has(id) && !stored.has(id)
    const place = thread && (await placeInThread(store.threads, thread, input.messages, isNew, newest))
    const replaced = edits === 'cut' && input.messages.some(isNew) ? await this.#replaced(input, ref, place) : undefined
    const facts = { input, thread, done, stored, now: clock.now(), room: () => roomFor(limits), place, replaced }
    this.#reply.phase = 'input'
    const plan = planRun({ ...this.#settings, ...facts })
    this.#reply.phase = 'setup'
    const notOpen = plan.kind === 'resume' ? undefined : plan.notOpen
    if (!notOpen) return plan
    const lost = lostRunOf(thread)
    if (lost !== undefined) throw runLost(lost)
    await checkCalls(store.threads, ref, notOpen, thread)
    return plan
  }

  /** The thread as it is stored, without what this run has said: other clients may know more of it than the one that asks. */
  async #history({ runId }: RunAgentInput, ref: ThreadRef, given: readonly Message[]): Promise<readonly Message[]> {
    const rows = await storedHistory(this.#settings.store.threads, ref)
    const before = rows.filter((row) => row.runId !== runId).map(({ message }) => message)
    return [...before, ...given]
  }

  /** Cuts the thread where the plan says so. */
  async #cut(plan: RunPlan, thread: Thread | undefined): Promise<Thread | undefined> {
    return thread && plan.kind === 'run' && plan.cut ? this.#settings.sessions.cut(thread, plan.cut) : thread
  }

  /** The message in whose place the new ones are. Contract: only one that came from a client. */
  async #replaced(input: RunAgentInput, ref: ThreadRef, place: Place | undefined): Promise<ForkPoint | undefined> {
    const id = replacedBy(input, place)
    if (id === undefined) return undefined
    const known = await this.#settings.sessions.getProcessedMessageIds(ref, [id])
    return known.has(id) ? { before: id } : undefined
  }

  /** Marks the messages of a request that starts no run as processed. */
  async #markProcessed(processed: readonly string[], ref: ThreadRef, thread: Thread | undefined): Promise<void> {
    if (!thread || processed.length === 0) return
    try {
      await this.#settings.sessions.markMessagesProcessed(ref, processed)
    } catch (error) {
      // The next request brings them again.
      if (!KernelError.is(error, 'THREAD_BUSY')) throw error
    }
  }
}

/** The error of a request with nothing new on a thread whose run broke off. */
function runLost(runId: string): KernelError {
  return new KernelError('RUN_LOST', `run ${runId}: its process is gone; continue it, or send a message`, {
    details: { runId },
  })
}

/** The run that holds a busy thread, or that broke off, taken from the error: by the time the store is asked, that run may be over. */
function holderOf(error: KernelError): { readonly holder?: string } {
  const named = error.code === 'THREAD_BUSY' || error.code === 'RUN_LOST'
  const holder = named ? runningIn(error.details) : undefined
  return holder === undefined ? {} : { holder }
}

/** The client's own state, used if there is no thread. */
function stateOf({ state }: RunAgentInput): JsonObject {
  return (state ?? {}) as JsonObject
}

/** Whether the run was cancelled on request, not by a time limit. */
function isCancelled({ aborted, reason }: AbortSignal): boolean {
  if (!aborted) return false
  return KernelError.is(reason)
    ? reason.code === 'ABORTED'
    : (reason as { name?: unknown } | undefined)?.name !== 'TimeoutError'
}
