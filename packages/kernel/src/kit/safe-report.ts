import type { KernelError } from '../data/kernel-error.ts'

/**
 * Makes a `report` option safe to call.
 * Contract: never throws; an error that `report` fails to take goes to the console, and so does every error without a `report`.
 * @example const tell = safeReport(report)
 */
export function safeReport<About extends readonly unknown[]>(
  report: (error: KernelError, ...about: About) => void = reportToConsole,
): (error: KernelError, ...about: About) => void {
  return (error, ...about) => {
    try {
      report(error, ...about)
    } catch {
      reportToConsole(error)
    }
  }
}

/** Logs an error that no caller awaits. */
function reportToConsole(error: KernelError, ..._about: readonly unknown[]): void {
  // biome-ignore lint/suspicious/noConsole: the last resort; a silent failure would be worse
  console.error(error)
}
