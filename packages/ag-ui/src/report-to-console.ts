import type { KernelError } from '@troupe/kernel'

/** The default report: logs to the console, so that no error gets lost. */
export function reportToConsole(error: KernelError, { requestId }: { readonly requestId?: string }): void {
  // biome-ignore lint/suspicious/noConsole: there is nowhere else
  console.error(requestId === undefined ? 'ag-ui:' : `ag-ui, request ${requestId}:`, error)
}
