import { type ErrorInfo, KernelError } from '../data/kernel-error.ts'
import { type Conclusion, conclude, type EarlyStop } from './conclude.ts'

/**
 * The errors of one run, recognised by identity.
 * Contract: an error that this run has not written may be one of its own that an agent rebuilt from an event, so only for those code and message decide.
 */
export class RunErrors {
  /** Errors that the run has written, by the error itself and by each ErrorInfo written for it. */
  readonly #written: WeakMap<ErrorInfo, KernelError> = new WeakMap()
  #reported: KernelError | undefined
  #failure: KernelError | undefined

  /** Concludes an early stop and remembers its failure. */
  conclude(thrown: unknown, aborted: KernelError | undefined, cancelling: EarlyStop['cancelling']): Conclusion {
    // After an abort the thrown value matters only if an error was shown.
    const matters = thrown !== undefined && (!aborted || this.#reported)
    const error = matters ? this.#original(KernelError.from(thrown)) : undefined
    const conclusion = conclude({
      thrown: error,
      wasReported: error && this.wasReported(error),
      aborted: aborted && this.#original(aborted),
      cancelling,
      failure: this.#failure,
    })
    this.#failure = conclusion.failure
    return conclusion
  }

  /** Writes an error as JSON for an event or a result. */
  infoOf(error: KernelError): ErrorInfo {
    const info = error.toJSON()
    this.#written.set(error, error).set(info, error)
    return info
  }

  /** Returns the error that an ErrorInfo was written for, with its stack and cause. */
  errorOf(info: ErrorInfo | undefined): KernelError {
    return (info && this.#written.get(info)) ?? this.#original(KernelError.from(info))
  }

  /** Whether an event has shown the error: a run shows it once, even if several agents pass it on. */
  wasReported(error: KernelError): boolean {
    return this.#reported !== undefined && this.#isSame(error, this.#reported)
  }

  markReported(info: ErrorInfo): void {
    this.#reported = this.errorOf(info)
  }

  #original(error: KernelError): KernelError {
    return [this.#failure, this.#reported].find((known) => known && this.#isSame(error, known)) ?? error
  }

  #isSame(error: KernelError, known: KernelError): boolean {
    if (this.#written.has(error) && this.#written.has(known)) return error === known
    return error.code === known.code && error.message === known.message
  }
}
