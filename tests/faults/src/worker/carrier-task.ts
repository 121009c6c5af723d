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
  /** The moment at which it sends itself a signal. */
  readonly signalAt?: CarrierMoment & { readonly signal: 'SIGKILL' | 'SIGSTOP' }
}

/** A moment of a process: in its work, or when readers see an event; each kind is numbered from 1. */
export interface CarrierMoment {
  readonly when: 'works' | 'shows'
  readonly number: number
}
