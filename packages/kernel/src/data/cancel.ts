/** The point at which a cancelled run stops. */
export type CancelMode = 'now' | 'after-model' | 'after-tools'
/** A cancel request. Contract: with `runId`, a late request does not cancel the next run. */
export type CancelRequest = { readonly mode?: CancelMode; readonly runId?: string }
