import { messageLifecycle, toolLifecycle } from '@troupe/persistence'
import { type Registrations, singleton } from '../app.ts'

/** The records of conversations: runs, their calls and tokens. */
export const recordsModule: Registrations<'messages' | 'callbacks'> = {
  messages: singleton(({ store }) => messageLifecycle({ store })),
  callbacks: singleton(({ telemetry, messages }) => [...telemetry.callbacks, messages, toolLifecycle({ messages })]),
}
