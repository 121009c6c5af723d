import { EventType } from '@ag-ui/core'
import { type ErrorInfo, type JsonObject, KernelError, type Message } from '@troupe/kernel'
import type { AgUiEvent, AgUiMessage, RunAgentInput } from '../protocol.ts'
import { clientView, messageOptions } from '../translate/client-view.ts'
import type { CompleteSnapshot } from '../translate/conversation.ts'
import { EventTranslator, type TranslatorOptions } from '../translate/event-translator.ts'
import { type PublicError, runError } from '../translate/run-error.ts'
import { type MessageOptions, toAgUiMessages } from '../translate/to-ag-ui-messages.ts'
import type { AgentSettings } from './agent-settings.ts'
import { clientError, type RunPhase } from './client-error.ts'
import type { OrderedSink } from './ordered-sink.ts'

/** The conversation before a run, or how to read it. */
type History = readonly AgUiMessage[] | (() => Promise<readonly Message[]>)

/** What the client of one run gets: the translation of its events, and errors without their internals. */
export class RunReply {
  readonly #settings: AgentSettings
  readonly #requestId: { readonly requestId?: string }
  #translator: EventTranslator | undefined
  /** Resolves when the snapshot among the last events is complete. */
  #ready: Promise<void> | undefined
  phase: RunPhase
  /** Why client tools of the request were left out. */
  readonly refusedTools: string[] = []

  constructor(settings: AgentSettings, requestId: string | undefined, phase: RunPhase) {
    this.#settings = settings
    this.#requestId = requestId === undefined ? {} : { requestId }
    this.phase = phase
  }

  /** Makes the translator of the run. Contract: a history that is a function is read when a snapshot needs it. */
  translate(input: RunAgentInput, state: JsonObject, history: History): EventTranslator {
    const { hidden, report, clock } = this.#settings
    const { threadId, runId, parentRunId } = input
    const view = clientView(this.#settings, input)
    const shown = messageOptions(view)
    const options: TranslatorOptions = {
      threadId,
      runId,
      ...(parentRunId !== undefined && { parentRunId }),
      input,
      ...(typeof history !== 'function' && { history }),
      state,
      hidden,
      clientTools: new Set(input.tools.map(({ name }) => name)),
      publicError: (error: ErrorInfo) => this.#publicError(KernelError.from(error)),
      refusedTools: this.refusedTools,
      ...view,
      ...this.#requestId,
      clock,
      report: (error) => report(error, this.#requestId),
    }
    this.#translator = new EventTranslator(
      options,
      typeof history === 'function' ? this.#completeWith(history, shown) : undefined,
    )
    return this.#translator
  }

  #completeWith(
    read: Exclude<History, readonly AgUiMessage[]>,
    shown: MessageOptions,
  ): (complete: CompleteSnapshot) => void {
    return (complete) => {
      this.#ready = read().then((messages) => complete(toAgUiMessages(messages, shown)))
    }
  }

  /** Writes events. Contract: a snapshot waits for its history, and is left out if that cannot be read: without it, it would remove messages. */
  write(out: OrderedSink, events: readonly AgUiEvent[]): void | Promise<void> {
    if (!this.#ready) return out.write(events)
    const complete = this.#ready.then(
      () => events,
      (error: unknown) => {
        this.#settings.report(KernelError.from(error, 'STORE_FAILED'), this.#requestId)
        return events.filter(({ type }) => type !== EventType.MESSAGES_SNAPSHOT)
      },
    )
    this.#ready = undefined
    return out.writeLater(complete)
  }

  /** The events that end the run, unless it has ended. */
  end(): readonly AgUiEvent[] {
    return this.#translator?.end() ?? []
  }

  /** The events that end the run with an error; `more` is metadata for the client. */
  fail(cause: unknown, more: (error: KernelError) => { readonly holder?: string } = () => ({})): readonly AgUiEvent[] {
    const error = KernelError.from(cause)
    const metadata = { ...this.#requestId, ...more(error), retryable: error.retryable }
    const terminal = runError(this.#publicError(error), metadata)
    return this.#translator?.end(terminal) ?? [terminal]
  }

  /** Turns an error into the one that the client gets; reports errors of a run, and those whose text is withheld. */
  #publicError(error: KernelError): PublicError {
    const shown = clientError(error, this.phase)
    if (KernelError.is(shown)) this.#settings.report(shown, this.#requestId)
    else if (this.phase === 'run') this.#settings.report(error, this.#requestId)
    return { code: shown.code, message: shown.message }
  }
}
