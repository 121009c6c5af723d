import { memoryStore } from '@troupe/kernel/memory-store'
import { type Registrations, singleton } from '../app.ts'

/** Conversations are kept in memory, and gone when the app ends. */
export const storeModule: Registrations<'store'> = {
  store: singleton(() => memoryStore()).disposer((store) => store[Symbol.asyncDispose]()),
}
