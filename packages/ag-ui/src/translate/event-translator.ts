import {
  EventType,
  PROTOCOL_VERSION,
  type RunErrorEvent,
  type RunFinishedEvent,
  type RunFinishedOutcome,
} from '@ag-ui/core'
import {
  type AgentEvent,
  type Clock,
  type ErrorInfo,
  type EventOf,
  type EventStamp,
  type JsonObject,
  KernelError,
} from '@troupe/kernel'
import { checkOptionNames, type OptionNames, systemClock } from '@troupe/kernel/kit'
import type { AgUiEvent, AgUiMessage, RunAgentInput, Translator } from '../protocol.ts'
import { CallTranslator } from './call-translator.ts'
import { type CompleteSnapshot, Conversation } from './conversation.ts'
import { CustomTranslator } from './custom-translator.ts'
import { MessageTranslator } from './message-translator.ts'
import { ModelUsage } from './model-usage.ts'
import { askedOf, outcomeOf } from './outcome-of.ts'
import { BROKEN_OFF, type PublicError, publicError, runError } from './run-error.ts'
import { RunView } from './run-view.ts'
import { copyOf, SharedState } from './shared-state.ts'
import { checkShow, finishing, type ShowOptions } from './show-options.ts'
import { tagged } from './tagged.ts'

/** The options of a translator. */
export interface TranslatorOptions {
  readonly threadId: string
  /** The client's id of the run. */
  readonly runId: string
  readonly parentRunId?: string
  readonly input?: Pick<RunAgentInput, 'messages'>
  /** The conversation before this run, as the client has it. @default the messages of `input` */
  readonly history?: readonly AgUiMessage[]
  /** The state that the run begins with. */
  readonly state: JsonObject
  /** Keys of the state never to be shown, besides `temp:` ones. */
  readonly hidden?: (key: string) => boolean
  /** The client's names of tools that it runs. Contract: their calls end for the client when the run has stored them. */
  readonly clientTools?: ReadonlySet<string>
  /** What the model sees before the names of the client's tools. @default none */
  readonly clientToolPrefix?: string
  /** Makes the error that clients see. @default a known code and a fixed sentence */
  readonly publicError?: (error: ErrorInfo) => PublicError
  /** Sent with an error, so that the operator can find it. */
  readonly requestId?: string
  /** Whether clients see the errors that tools threw. @default false */
  readonly showToolErrors?: boolean
  /** Why client tools were left out: clients get the reasons as `CUSTOM` `tool-refused`. */
  readonly refusedTools?: readonly string[]
  /** What clients see besides what the run says and does. */
  readonly show?: ShowOptions
  /** The clock of `show.timestamps`. @default the system's */
  readonly clock?: Pick<Clock, 'now'>
  /** Receives the error of an event that could not be translated. */
  readonly report?: (error: KernelError) => void
}

const NAMES: OptionNames<TranslatorOptions> = {
  threadId: true,
  runId: true,
  parentRunId: true,
  input: true,
  history: true,
  state: true,
  hidden: true,
  clientTools: true,
  clientToolPrefix: true,
  publicError: true,
  requestId: true,
  showToolErrors: true,
  show: true,
  refusedTools: true,
  clock: true,
  report: true,
}

/**
 * Makes a translator for one run.
 * @example
 * const translator = eventTranslator({ threadId: 't1', runId: 'r1', input, state: thread.state })
 * for await (const event of run.eventsWithoutThrowing()) send(translator.translate(event))
 * send(translator.end())
 */
export function eventTranslator(options: TranslatorOptions): Translator {
  checkOptionNames('eventTranslator', options, NAMES)
  if (options.show) checkShow('eventTranslator', options.show)
  return new EventTranslator(options)
}

/** The translator of one run. */
export class EventTranslator implements Translator {
  readonly #options: TranslatorOptions
  readonly #public: (error: ErrorInfo) => PublicError
  readonly #state: SharedState
  readonly #messages: MessageTranslator
  readonly #views: Map<string, RunView> = new Map()
  readonly #custom: CustomTranslator
  /** The sub-agent that asked each question. */
  readonly #askedBy: Map<string, string> = new Map()
  readonly #usage: ModelUsage = new ModelUsage()
  readonly #finishing: ((events: AgUiEvent[]) => AgUiEvent[]) | undefined
  #root: RunView | undefined
  #ended = false

  /** Contract: with `later` the snapshots have what `later` completes them with. */
  constructor(options: TranslatorOptions, later?: (complete: CompleteSnapshot) => void) {
    this.#options = options
    this.#public = options.publicError ?? publicError
    this.#finishing = finishing(options.show ?? {}, options.clock ?? systemClock)
    this.#custom = new CustomTranslator(options.runId, this.#public)
    this.#state = new SharedState(options.state, options.hidden)
    const { omit } = options.show ?? {}
    const conversation = new Conversation(options.history ?? options.input?.messages, omit, later)
    this.#messages = new MessageTranslator(conversation, new CallTranslator(conversation, options), omit)
  }

  translate(event: AgentEvent): readonly AgUiEvent[] {
    const out: AgUiEvent[] = []
    if (this.#ended) return out
    try {
      this.#write(event, out)
    } catch (cause) {
      // An agent may yield what only looks like an event; what was written of it is open, so clients get it.
      const message = `ag-ui: a ${event?.type} event could not be translated`
      this.#options.report?.(new KernelError('EVENT_INVALID', message, { cause }))
    }
    return this.#finishing ? this.#finishing(out) : out
  }

  end(error: RunErrorEvent = BROKEN_OFF): readonly AgUiEvent[] {
    const out: AgUiEvent[] = []
    if (this.#ended) return out
    this.#messages.finish(undefined, out)
    this.#finish(error, out)
    return this.#finishing ? this.#finishing(out) : out
  }

  /** The whole conversation, if the history is known. */
  snapshot(): readonly AgUiEvent[] {
    const out: AgUiEvent[] = []
    this.#messages.show(out)
    return this.#finishing ? this.#finishing(out) : out
  }

  #write(event: AgentEvent, out: AgUiEvent[]): void {
    if (event.type === 'run-start') this.#begin(event, out)
    const view = this.#viewOf(event)
    if (!view) return
    switch (event.type) {
      case 'text-delta':
      case 'reasoning-delta':
      case 'tool-call-delta':
        this.#messages.writeDelta(event, view, out)
        break
      case 'tool-call-start':
      case 'tool-call-end':
      case 'message-start':
      case 'tool-start':
      case 'tool-end':
        this.#messages.write(event, view, out)
        break
      case 'message-end':
        this.#usage.add(event)
        this.#messages.write(event, view, out)
        break
      case 'agent-start':
        view.beginStep(event, out)
        break
      case 'agent-end':
        view.endStep(event, out)
        break
      case 'run-end':
        this.#end(event, view, out)
        break
      default:
        this.#writeStandalone(event, view, out)
    }
  }

  /** Writes an event that opens and closes nothing. */
  #writeStandalone(event: AgentEvent, { prefix, owner }: RunView, out: AgUiEvent[]): void {
    switch (event.type) {
      case 'tool-delta': {
        const value = { toolCallId: prefix + event.callId, delta: copyOf(event.delta) ?? null }
        out.push(tagged({ type: EventType.CUSTOM, name: event.type, value }, owner))
        break
      }
      case 'state-delta': {
        const delta = [...this.#state.change(event.set, event.removed)]
        if (delta.length > 0) out.push(tagged({ type: EventType.STATE_DELTA, delta }, owner))
        break
      }
      case 'custom':
        this.#custom.write(event, owner, out)
        break
      case 'action': {
        const { action } = event
        if (action.type !== 'custom' || typeof action.name !== 'string') return
        const value = copyOf(action.data ?? null) ?? null
        out.push(tagged({ type: EventType.CUSTOM, name: action.name, value }, owner))
      }
    }
  }

  #begin(event: EventOf<'run-start'>, out: AgUiEvent[]): void {
    const { runId, parentRunId, parentCallId, agentName: name } = event
    if (!this.#root) return void this.#beginRoot(runId, out)
    if (parentCallId === undefined || this.#views.has(runId)) return
    const parent = (parentRunId !== undefined && this.#views.get(parentRunId)) || this.#root
    const { origin = parent.prefix + parentCallId } = event
    this.#views.set(runId, new RunView(runId, runId, `${origin}/`))
    const call = this.#messages.call(parent.prefix + parentCallId)
    out.push({
      type: EventType.SUBAGENT_STARTED,
      subagentRunId: runId,
      name,
      ...(parent.owner !== undefined && { parentSubagentRunId: parent.owner }),
      ...(call && { parentToolCallId: call.id, parentMessageId: call.message.id }),
    })
  }

  #beginRoot(kernelRunId: string, out: AgUiEvent[]): void {
    const { threadId, runId, parentRunId, refusedTools = [] } = this.#options
    this.#root = new RunView(kernelRunId)
    this.#views.set(kernelRunId, this.#root)
    const parent = parentRunId !== undefined && { parentRunId }
    out.push({ type: EventType.RUN_STARTED, threadId, runId, protocolVersion: PROTOCOL_VERSION, ...parent })
    out.push({ type: EventType.STATE_SNAPSHOT, snapshot: this.#state.snapshot })
    for (const message of refusedTools) out.push({ type: EventType.CUSTOM, name: 'tool-refused', value: { message } })
  }

  /** Events of a nested run without a view of its own belong to the root run. */
  #viewOf({ runId }: EventStamp): RunView | undefined {
    return this.#views.get(runId) ?? this.#root
  }

  #end(event: EventOf<'run-end'>, view: RunView, out: AgUiEvent[]): void {
    if (event.runId !== view.runId || view.ended) return
    if (view === this.#root) this.#endRoot(event, out)
    else {
      // A sub-agent around this one repeats its questions.
      for (const { id } of askedOf(event.interrupts)) if (!this.#askedBy.has(id)) this.#askedBy.set(id, view.runId)
      this.#messages.leave(event, view, out)
      view.end(event, this.#public, out)
    }
  }

  #endRoot(event: EventOf<'run-end'>, out: AgUiEvent[]): void {
    const isOpen = (callId: string) => !this.#messages.call(callId)?.answered
    const outcome =
      event.outcome === 'failed' ? undefined : outcomeOf(event, isOpen, this.#askedBy, this.#options.clientToolPrefix)
    this.#messages.finish(outcome, out)
    if (this.#state.changed) out.push({ type: EventType.STATE_SNAPSHOT, snapshot: this.#state.snapshot })
    if (outcome?.type === 'interrupt' || this.#options.show?.messagesSnapshot) this.#messages.show(out)
    this.#finish(outcome ? this.#finished(event, outcome) : this.#failed(event), out)
  }

  #failed({ error = { code: 'AGENT_FAILED', message: '' }, usage }: EventOf<'run-end'>): RunErrorEvent {
    const { requestId } = this.#options
    const { retryable = false } = error
    const tokens = this.#usage.entries(usage)
    const event = runError(this.#public(error), { retryable, ...(requestId !== undefined && { requestId }) })
    return { ...event, ...(tokens && { usage: tokens }) }
  }

  #finished({ usage, output }: EventOf<'run-end'>, outcome: RunFinishedOutcome): RunFinishedEvent {
    const { threadId, runId } = this.#options
    const tokens = this.#usage.entries(usage)
    const result = outcome.type === 'success' && output !== undefined ? copyOf(output) : undefined
    return {
      type: EventType.RUN_FINISHED,
      threadId,
      runId,
      ...(result !== undefined && { result }),
      outcome,
      ...(tokens && { usage: tokens }),
    }
  }

  /** Ends the steps and sub-agents that the run left open, the last one first, then the run. */
  #finish(terminal: AgUiEvent, out: AgUiEvent[]): void {
    this.#ended = true
    for (const view of [...this.#views.values()].reverse()) view.breakOff(terminal, out)
    out.push(terminal)
  }
}
