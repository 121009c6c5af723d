import type { KernelError } from '@troupe/kernel'

/** Where errors go whose text a client does not get. */
export type Report = (error: KernelError, about: { readonly requestId?: string }) => void

/** The default: what a client does not get must not get lost. */
export const reportToConsole: Report = (error, { requestId }) => {
  // biome-ignore lint/suspicious/noConsole: there is nowhere else
  console.error(requestId === undefined ? 'ag-ui:' : `ag-ui, request ${requestId}:`, error)
}

/** Contract: whoever listens to errors does not make one. */
export function isolated<About extends readonly unknown[]>(
  report: (error: KernelError, ...about: About) => void,
): (error: KernelError, ...about: About) => void {
  return (error, ...about) => {
    try {
      report(error, ...about)
    } catch {
      // There is nobody left to tell.
    }
  }
}
