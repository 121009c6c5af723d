import { messageLifecycle, toolLifecycle } from '@troupe/persistence'
import { type Registrations, singleton } from '../app.ts'

/** The records of a conversation: its runs, their calls and tokens. */
export const recordsModule: Registrations<'messages' | 'callbacks'> = {
  // `main` disposes it, before the container closes the store.
  messages: singleton(({ store }) => messageLifecycle({ store })),
  // Without a thread nothing is saved.
  callbacks: singleton(({ config, telemetry, messages }) => [
    ...telemetry.callbacks,
    ...(config.thread === undefined ? [] : [messages, toolLifecycle({ messages })]),
  ]),
}
