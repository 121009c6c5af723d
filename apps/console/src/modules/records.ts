import type { Callback, Store } from '@troupe/kernel'
import { type MessageLifecycle, messageLifecycle, toolLifecycle } from '@troupe/persistence'
import { asFunction, type Resolver } from 'awilix'
import type { Config } from '../config.ts'

/** The records of a conversation: its runs, their calls and tokens. */
export const recordsModule: {
  readonly messages: Resolver<MessageLifecycle>
  readonly callbacks: Resolver<readonly Callback[]>
} = {
  // Whoever ends the app disposes it, before the container closes the store.
  messages: asFunction(({ store }: { store: Store }) => messageLifecycle({ store })).singleton(),
  // Without a thread nothing is kept.
  callbacks: asFunction((app: { config: Config; messages: MessageLifecycle }): readonly Callback[] =>
    app.config.thread === undefined ? [] : [app.messages, toolLifecycle({ messages: app.messages })],
  ).singleton(),
}
