import {
  type AgentEvent,
  type Json,
  KernelError,
  type Message,
  type Restored,
  type RunContext,
  type Runner,
  type Sink,
  type Thread,
  type ThreadRef,
} from '@troupe/kernel'
import { carriedBy } from '@troupe/kernel/journal'
import { pipe, sinkTo, untilAborted } from '@troupe/kernel/kit'
import { restoredInput } from '../lost/carried-input.ts'
import { SeenAnswers } from '../lost/seen-answers.ts'
import { storedHistory } from '../lost/stored-history.ts'
import { UnseenEvents } from '../lost/unseen-events.ts'
import type { AgUiEvent, RunAgentInput } from '../protocol.ts'
import { ExecutionState } from '../run/execution-state.ts'
import { EXECUTION_MS, type Executions, executionTimeout } from '../run/executions.ts'
import type { AgUiContinueOptions } from '../run/served-agent.ts'
import { pastHolds } from '../session/thread-holds.ts'
import { clientView, messageOptions } from '../translate/client-view.ts'
import type { EventTranslator } from '../translate/event-translator.ts'
import { SharedState } from '../translate/shared-state.ts'
import { toAgUiMessages } from '../translate/to-ag-ui-messages.ts'
import { AG_UI_INPUT } from './ag-ui-input.ts'
import type { AgentSettings } from './agent-settings.ts'
import { carriedMessages, withMessages } from './given-messages.ts'
import { OrderedSink } from './ordered-sink.ts'
import { additionsOf } from './run-plan.ts'
import { RunReply } from './run-reply.ts'
import { ToolLimit } from './tool-limit.ts'

/** A lost run whose thread was found. */
interface FoundRun {
  readonly thread: Thread
  readonly runId: string
  readonly runner: Runner
  readonly history: readonly Message[]
  readonly execution: ExecutionState
}

/** A run of another process that an AgUiAgent goes on with: it is translated again from its start, without what readers have seen. */
export class ContinuedRun {
  readonly #settings: AgentSettings
  readonly #executions: Executions
  readonly #ref: ThreadRef
  readonly #options: AgUiContinueOptions
  readonly #reply: RunReply
  #execution: ExecutionState | undefined
  #producing: Promise<void> | undefined
  #left: KernelError | undefined
  #translator: EventTranslator | undefined
  #answers: SeenAnswers = new SeenAnswers([])
  #unseen: UnseenEvents | undefined

  constructor(settings: AgentSettings, executions: Executions, ref: ThreadRef, options: AgUiContinueOptions) {
    this.#settings = settings
    this.#executions = executions
    this.#ref = ref
    this.#options = options
    this.#reply = new RunReply(settings, options.requestId, 'setup')
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
      await out.write(this.#pass(this.#reply.end()))
    } catch (cause) {
      if (!sink.closed) await out.write(this.#pass(this.#reply.fail(cause)))
    }
  }

  async #serve(sink: Sink<AgUiEvent>, out: OrderedSink): Promise<void> {
    const { clock, sessions } = this.#settings
    const { signal, execution: entry } = this.#options
    const thread = await sessions.getSession(this.#ref)
    const runId = this.#options.runId ?? thread?.unfinished
    if (!thread || runId === undefined || thread.unfinished !== runId) throw notLost(this.#ref)
    const execution = entry ?? new ExecutionState(this.#ref, runId, clock.now())
    using _caller = signal && signal !== execution.signal ? execution.stopWith(signal) : undefined
    this.#execution = execution
    try {
      if (this.#left) throw this.#left
      this.#executions.enter(execution)
      await this.#execute(await this.#setUp(thread, runId, execution), sink, out)
    } finally {
      if (!entry) execution.end()
    }
  }

  /** Contract: limits the time until the run starts; from then on the Runner does. */
  async #setUp(thread: Thread, runId: string, execution: ExecutionState): Promise<FoundRun> {
    const { clock, executionTimeoutMs: limitMs = EXECUTION_MS } = this.#settings
    const cancelTimer = clock.after(limitMs, () => execution.stop(executionTimeout(limitMs)))
    try {
      return await untilAborted(execution.signal, this.#find(thread, runId, execution))
    } finally {
      cancelTimer()
    }
  }

  async #find(thread: Thread, runId: string, execution: ExecutionState): Promise<FoundRun> {
    const { runner: only, resolveRunner, store } = this.#settings
    const carried = resolveRunner && store.journal && (await carriedBy(store.journal, this.#ref))
    const runner =
      carried === undefined ? only : await resolveRunner?.(this.#inputOf(thread, runId, carried), this.#ref)
    if (!runner?.continue) throw notLost(this.#ref)
    const rows = await storedHistory(store.threads, this.#ref)
    return { thread, runId, runner, history: rows.map(({ message }) => message), execution }
  }

  async #execute(found: FoundRun, sink: Sink<AgUiEvent>, out: OrderedSink): Promise<void> {
    const { clock, toolTimeoutMs, executionTimeoutMs } = this.#settings
    const { runId, runner, execution } = found
    const { signal } = execution
    using limit = new ToolLimit(clock, toolTimeoutMs, (reason) => execution.stop(reason))
    const onEvent = sinkTo<AgentEvent>(sink, (event) => {
      limit.see(event)
      return this.#unseen ? this.#write(event, out) : this.#begin(event, out)
    })
    await pastHolds(clock, async () => {
      const run = runner.continue?.(this.#ref, {
        runId,
        signal,
        again: true,
        shown: (ctx: RunContext) => this.#answers.partsOf(ctx),
        restore: (carried) => this.#restore(found, carried, limit),
        ...(executionTimeoutMs !== undefined && { timeoutMs: Math.min(executionTimeoutMs, Number.MAX_SAFE_INTEGER) }),
      })
      if (!run) return
      await pipe(run.eventsWithoutThrowing(), onEvent)
      // A run that never began has no events; awaiting it throws the reason.
      if (this.#reply.phase !== 'run') await run
    })
  }

  #restore({ thread, runId, history }: FoundRun, carried: Json | undefined, limit: ToolLimit): Restored {
    const input = this.#inputOf(thread, runId, carried)
    const shown = toAgUiMessages(history, messageOptions(clientView(this.#settings, input)))
    this.#translator = this.#reply.translate(input, thread.state, withMessages(shown, carriedMessages(carried)))
    const { prepare = (ctx) => ctx } = this.#options
    const { systemMessages, clientTools } = this.#settings
    return {
      prepare: (ctx) => prepare(ctx.with(AG_UI_INPUT, input)),
      additions: limit.untimed(additionsOf(input, thread.openCalls, systemMessages, clientTools)),
    }
  }

  #inputOf({ state }: Thread, runId: string, carried: Json | undefined): RunAgentInput {
    const { hidden, limits } = this.#settings
    const { threadId } = this.#ref
    return restoredInput(carried, { threadId, runId, state: new SharedState(state, hidden).snapshot }, limits)
  }

  /** The run has its thread. */
  async #begin(event: AgentEvent, out: OrderedSink): Promise<void> {
    this.#reply.phase = 'run'
    const seen = (await this.#options.seen?.()) ?? []
    this.#answers = new SeenAnswers(seen)
    this.#unseen = new UnseenEvents(seen, () => this.#translator?.snapshot() ?? [])
    await this.#write(event, out)
  }

  #write(event: AgentEvent, out: OrderedSink): void | Promise<void> {
    if (event.type === 'message-start') this.#answers.begin(event.messageId)
    return out.write(this.#pass(this.#translator?.translate(event) ?? []))
  }

  #pass(events: readonly AgUiEvent[]): readonly AgUiEvent[] {
    return this.#unseen && events.length > 0 ? this.#unseen.pass(events) : events
  }
}

function notLost({ threadId }: ThreadRef): KernelError {
  return new KernelError('NOT_FOUND', `continue: thread ${threadId} has no run that can be continued`)
}
