import { type ErrorInfo, infoBehind, KernelError } from '../data/kernel-error.ts'
import { type Conclusion, conclude, type EarlyStop } from './conclude.ts'

/**
 * The errors of one run, recognised by identity.
 * Contract: an ErrorInfo that came back as a copy, for example through JSON, has lost its identity; only there code and message decide.
 */
export class RunErrors {
  /** The errors of the run and what was written for them; a run has few. */
  readonly #written: Map<KernelError, ErrorInfo> = new Map()
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
    const written = this.#written.get(error)
    if (written) return written
    const info = error.toJSON()
    this.#written.set(error, info)
    return info
  }

  /** Returns the error that an ErrorInfo was written for, with its stack and cause. */
  errorOf(info: ErrorInfo | undefined): KernelError {
    if (!info) return KernelError.from(info)
    const written = [...this.#written]
    const [known] =
      written.find((entry) => entry[1] === info) ??
      written.find(([, { code, message }]) => code === info.code && message === info.message) ??
      []
    if (known) return known
    const error = KernelError.from(info)
    this.#written.set(error, info)
    return error
  }

  /** Whether an event has shown the error: a run shows it once, even if several agents pass it on. */
  wasReported(error: KernelError): boolean {
    return this.#reported !== undefined && this.#original(error) === this.#reported
  }

  markReported(info: ErrorInfo): void {
    this.#reported = this.errorOf(info)
  }

  /** The error of this run that a thrown error was read back from, or the thrown error itself. */
  #original(error: KernelError): KernelError {
    const info = this.#written.has(error) ? undefined : infoBehind(error)
    return info ? this.errorOf(info) : error
  }
}
