import { EventType, PROTOCOL_VERSION } from '@ag-ui/core'
import {
  type AgentEvent,
  type ErrorInfo,
  type EventOf,
  type EventStamp,
  type JsonObject,
  KernelError,
} from '@troupe/kernel'
import { checkOptionNames, type OptionNames } from '@troupe/kernel/kit'
import type { AgUiEvent, AgUiMessage, RunAgentInput, Translator } from '../protocol.ts'
import { Conversation } from './conversation.ts'
import { CustomTranslator } from './custom-translator.ts'
import { MessageTranslator } from './message-translator.ts'
import { outcomeOf, usageOf } from './outcome.ts'
import { type PublicError, publicError, runError } from './run-error.ts'
import { RunView } from './run-view.ts'
import { copyOf, SharedState } from './shared-state.ts'
import { tagged } from './tag.ts'

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
  /** Names of tools that the client runs. Contract: their calls end for the client when the run has stored them. */
  readonly clientTools?: ReadonlySet<string>
  /** Makes the error that clients see. @default a known code and a fixed sentence */
  readonly publicError?: (error: ErrorInfo) => PublicError
  /** Sent with an error, so that the operator can find it. */
  readonly requestId?: string
  /** Whether clients see the errors that tools threw. @default false */
  readonly showToolErrors?: boolean
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
  publicError: true,
  requestId: true,
  showToolErrors: true,
  report: true,
}
const NOTHING: readonly AgUiEvent[] = []

/**
 * Makes a translator for one run.
 * @example
 * const translator = eventTranslator({ threadId: 't1', runId: 'r1', input, state: thread.state })
 * const writer = runWriter()
 * for await (const event of run.eventsWithoutThrowing()) send(writer.writeAll(translator.translate(event)))
 */
export function eventTranslator(options: TranslatorOptions): Translator {
  checkOptionNames('eventTranslator', options, NAMES)
  return new EventTranslator(options)
}

class EventTranslator implements Translator {
  readonly #options: TranslatorOptions
  readonly #public: (error: ErrorInfo) => PublicError
  readonly #state: SharedState
  readonly #messages: MessageTranslator
  readonly #views: Map<string, RunView> = new Map()
  readonly #custom: CustomTranslator
  #root: RunView | undefined
  #view: RunView | undefined

  constructor(options: TranslatorOptions) {
    this.#options = options
    this.#public = options.publicError ?? publicError
    this.#custom = new CustomTranslator(options.runId, this.#public)
    this.#state = new SharedState(options.state, options.hidden)
    this.#messages = new MessageTranslator(new Conversation(options.history ?? options.input?.messages), options)
  }

  translate(event: AgentEvent): readonly AgUiEvent[] {
    try {
      return this.#translate(event)
    } catch (cause) {
      // An agent may yield what only looks like an event.
      const message = `ag-ui: a ${event?.type} event could not be translated`
      this.#options.report?.(new KernelError('EVENT_INVALID', message, { cause }))
      return NOTHING
    }
  }

  #translate(event: AgentEvent): readonly AgUiEvent[] {
    if (event.type === 'run-start') return this.#begin(event)
    const view = this.#viewOf(event)
    if (!view) return NOTHING
    switch (event.type) {
      case 'text-delta':
      case 'reasoning-delta':
      case 'tool-call-start':
      case 'tool-call-delta':
      case 'tool-call-end':
      case 'message-start':
      case 'message-end':
      case 'tool-start':
      case 'tool-end':
        return this.#messages.translate(event, view)
      case 'tool-delta': {
        const delta = copyOf(event.delta) ?? null
        const value = { toolCallId: view.prefix + event.callId, delta }
        return [tagged({ type: EventType.CUSTOM, name: event.type, value }, view.owner)]
      }
      case 'agent-start':
      case 'agent-end': {
        const out: AgUiEvent[] = []
        if (event.type === 'agent-start') view.beginStep(event, out)
        else view.endStep(event, out)
        return out
      }
      case 'state-delta': {
        const delta = [...this.#state.change(event.set, event.removed)]
        return delta.length === 0 ? NOTHING : [tagged({ type: EventType.STATE_DELTA, delta }, view.owner)]
      }
      case 'custom': {
        const custom = this.#custom.translate(event, view.owner)
        return custom ? [custom] : NOTHING
      }
      case 'action': {
        const { action } = event
        if (action.type !== 'custom' || typeof action.name !== 'string') return NOTHING
        const value = copyOf(action.data ?? null) ?? null
        return [tagged({ type: EventType.CUSTOM, name: action.name, value }, view.owner)]
      }
      case 'run-end':
        return this.#end(event, view)
      default:
        return NOTHING
    }
  }

  #begin(event: EventOf<'run-start'>): readonly AgUiEvent[] {
    const { runId, parentCallId, agentName: name } = event
    if (!this.#root) return this.#beginRoot(runId)
    if (parentCallId === undefined || this.#views.has(runId)) return NOTHING
    const parent = this.#around(runId)
    const view = parent.nested(runId, parentCallId)
    this.#views.set(runId, view)
    const call = this.#messages.call(parent.prefix + parentCallId)
    return [
      {
        type: EventType.SUBAGENT_STARTED,
        subagentRunId: runId,
        name,
        ...(parent.owner !== undefined && { parentSubagentRunId: parent.owner }),
        ...(call && { parentToolCallId: call.id, parentMessageId: call.message.id }),
      },
    ]
  }

  #beginRoot(kernelRunId: string): readonly AgUiEvent[] {
    const { threadId, runId, parentRunId } = this.#options
    this.#root = this.#view = new RunView(kernelRunId)
    this.#views.set(kernelRunId, this.#root)
    return [
      {
        type: EventType.RUN_STARTED,
        threadId,
        runId,
        protocolVersion: PROTOCOL_VERSION,
        ...(parentRunId !== undefined && { parentRunId }),
      },
      { type: EventType.STATE_SNAPSHOT, snapshot: this.#state.snapshot },
    ]
  }

  /** The run that a nested run belongs to: the nested id begins with the id of its parent run. */
  #around(runId: string): RunView {
    let around = this.#root as RunView
    for (const view of this.#views.values()) {
      if (runId.startsWith(`${view.runId}/`) && view.runId.length >= around.runId.length) around = view
    }
    return around
  }

  /** Events of a nested run without a view of its own belong to the root run. */
  #viewOf({ runId }: EventStamp): RunView | undefined {
    if (this.#view?.runId !== runId) this.#view = this.#views.get(runId) ?? this.#root
    return this.#view
  }

  #end(event: EventOf<'run-end'>, view: RunView): readonly AgUiEvent[] {
    if (event.runId !== view.runId || view.ended) return NOTHING
    const out: AgUiEvent[] = []
    if (view !== this.#root) {
      this.#messages.leave(event, view, out)
      out.push(view.end(event, this.#public))
      return out
    }
    const { outcome, error, usage, output } = event
    const { threadId, runId, requestId } = this.#options
    const ended =
      outcome === 'failed' ? undefined : outcomeOf(event, (callId) => !this.#messages.call(callId)?.answered)
    this.#messages.finish(ended, out)
    out.push({ type: EventType.STATE_SNAPSHOT, snapshot: this.#state.snapshot })
    if (!ended) {
      const info = error ?? { code: 'AGENT_FAILED', message: '' }
      const { retryable = false } = info
      out.push(runError(this.#public(info), { retryable, usage, ...(requestId !== undefined && { requestId }) }))
      return out
    }
    if (ended.type === 'interrupt') this.#messages.show(out)
    const tokens = usageOf(usage)
    const result = ended.type === 'success' && output !== undefined ? copyOf(output) : undefined
    out.push({
      type: EventType.RUN_FINISHED,
      threadId,
      runId,
      ...(result !== undefined && { result }),
      outcome: ended,
      ...(tokens && { usage: tokens }),
    })
    return out
  }
}
