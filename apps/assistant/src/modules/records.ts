import type { Callback, Store } from '@troupe/kernel'
import { type MessageLifecycle, messageLifecycle, toolLifecycle } from '@troupe/persistence'
import { asFunction, type Resolver } from 'awilix'

/** The records of conversations: runs, their calls and tokens. */
export const recordsModule: {
  readonly messages: Resolver<MessageLifecycle>
  readonly callbacks: Resolver<readonly Callback[]>
} = {
  messages: asFunction(({ store }: { store: Store }) => messageLifecycle({ store })).singleton(),
  callbacks: asFunction(({ messages }: { messages: MessageLifecycle }): readonly Callback[] => [
    messages,
    toolLifecycle({ messages }),
  ]).singleton(),
}
