import type { StoreAddress } from '../store/open-store.ts'

/** What a process that carries a conversation on has to do; plain JSON, because it is passed as an argument. */
export interface CarrierTask {
  readonly address: StoreAddress
  /** The folder of the files that processes share. */
  readonly folder: string
  /** The name of the process. */
  readonly name: string
  /** The shape of the agent. */
  readonly shape: string
  /** The moment at which it sends itself a signal; moments are numbered from 1. */
  readonly signalAt?: { readonly moment: number; readonly signal: 'SIGKILL' | 'SIGSTOP' }
}
