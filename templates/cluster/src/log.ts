import type { KernelError } from '@troupe/kernel'

/** Writes lines of JSON. */
export interface Log {
  write(message: string, more?: object): void
  /** Writes an error that no client sees: a callback that failed, records that cannot be written. */
  report(error: KernelError, about?: object): void
}

/** A log on stdout. */
export function stdoutLog(): Log {
  const write = (message: string, more: object = {}) => console.log(JSON.stringify({ message, ...more }))
  return {
    write,
    report: ({ code, message: error, cause }, about = {}) =>
      write('report', { code, error, ...(cause !== undefined && { cause: String(cause) }), ...about }),
  }
}
