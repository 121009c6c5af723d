import { type Callback, checkOption, checkOptionNames } from '@troupe/kernel'
import { type MessageLifecycle, RECORDER } from './message-lifecycle.ts'
import { CallBook } from './record/call-book.ts'

/** What a tool lifecycle is made with. */
export interface ToolLifecycleOptions {
  /** Keeps the runs that the calls belong to; its queue, receivers and mode are shared. */
  readonly messages: MessageLifecycle
}

/**
 * A callback that keeps a row for each tool call: running, awaiting, interrupted, complete or failed.
 * Contract: works beside the message lifecycle it is given, in any order; a failed tool does not fail the message.
 * @example runner(agent, { store, callbacks: [messages, toolLifecycle({ messages })] })
 */
export function toolLifecycle(options: ToolLifecycleOptions): Callback {
  checkOptionNames('toolLifecycle', options, { messages: true }, { lifecycle: 'messages' })
  const { messages } = options
  const recorder = messages?.[RECORDER]
  checkOption(recorder !== undefined, 'toolLifecycle', 'messages is a messageLifecycle()', messages)
  const book = new CallBook(recorder.ledger, recorder.queue, recorder.now)
  const hooks: Pick<Callback, 'run' | 'agent' | 'tool'> = {
    run: { onStart: (info, input) => book.runStart(info, input) },
    agent: { onStart: (info, input) => book.agentStart(info, input) },
    tool: {
      onStart: (info, input) => book.start(info, input),
      onEnd: (info, result) => book.end(info, result),
      onError: (info, error) => book.fail(info, error),
    },
  }
  return { name: 'tool-lifecycle', ...(recorder.mode !== 'off' && hooks) }
}
