import { type ErrorInfo, type JsonObject, KernelError } from '@troupe/kernel'
import type { AgUiEvent, AgUiMessage, RunAgentInput } from '../protocol.ts'
import { EventTranslator } from '../translate/event-translator.ts'
import { type PublicError, runError } from '../translate/run-error.ts'
import type { AgentSettings } from './agent-settings.ts'
import { clientError, type RunPhase } from './client-error.ts'

/** What the client of one run gets: the translation of its events, and errors without their internals. */
export class RunReply {
  readonly #settings: AgentSettings
  readonly #requestId: { readonly requestId?: string }
  #translator: EventTranslator | undefined
  phase: RunPhase
  /** Why client tools of the request were left out. */
  readonly refusedTools: string[] = []

  constructor(settings: AgentSettings, requestId: string | undefined, phase: RunPhase) {
    this.#settings = settings
    this.#requestId = requestId === undefined ? {} : { requestId }
    this.phase = phase
  }

  /** Makes the translator of the run. */
  translate(input: RunAgentInput, state: JsonObject, history?: readonly AgUiMessage[]): EventTranslator {
    const { hidden, report, show } = this.#settings
    const { threadId, runId, parentRunId } = input
    this.#translator = new EventTranslator({
      threadId,
      runId,
      ...(parentRunId !== undefined && { parentRunId }),
      input,
      ...(history && { history }),
      state,
      hidden,
      clientTools: new Set(input.tools.map(({ name }) => name)),
      publicError: (error: ErrorInfo) => this.#publicError(KernelError.from(error)),
      refusedTools: this.refusedTools,
      ...(show && { show: typeof show === 'function' ? show(input) : show }),
      ...this.#requestId,
      report: (error) => report(error, this.#requestId),
    })
    return this.#translator
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
