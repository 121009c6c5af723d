import type { KernelError } from '@troupe/kernel'

/** Receives errors whose text a client does not get. */
export type Report = (error: KernelError, about: { readonly requestId?: string }) => void

/** The default report: logs to the console, so that no error gets lost. */
export const reportToConsole: Report = (error, { requestId }) => {
  // biome-ignore lint/suspicious/noConsole: there is nowhere else
  console.error(requestId === undefined ? 'ag-ui:' : `ag-ui, request ${requestId}:`, error)
}

/** Wraps a report function. Contract: never throws. */
export function isolated<About extends readonly unknown[]>(
  report: (error: KernelError, ...about: About) => void,
): (error: KernelError, ...about: About) => void {
  return (error, ...about) => {
    try {
      report(error, ...about)
    } catch {
      // An error of the report function itself has nowhere to go.
    }
  }
}
