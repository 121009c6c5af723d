import type { Callback } from '@troupe/kernel'
import { checkOption, checkOptionNames } from '@troupe/kernel/kit'
import { type MessageLifecycle, RECORDER } from './message-lifecycle.ts'
import { CallRecords } from './record/call-records.ts'

/** The options of a tool lifecycle. */
export interface ToolLifecycleOptions {
  /** The lifecycle that records the runs of the calls; its queue, receivers and mode are shared. */
  readonly messages: MessageLifecycle
}

/**
 * Makes a callback that keeps a row for each tool call: running, awaiting, interrupted, complete or failed.
 * Contract: works beside the message lifecycle it is given, in any order; a failed tool does not fail the message.
 * @example
 * const messages = messageLifecycle({ store })
 * runner({ agent, store, callbacks: [messages, toolLifecycle({ messages })] })
 */
export function toolLifecycle(options: ToolLifecycleOptions): Callback {
  checkOptionNames('toolLifecycle', options, { messages: true }, { lifecycle: 'messages' })
  const { messages } = options
  const recorder = messages?.[RECORDER]
  checkOption(recorder !== undefined, 'toolLifecycle', 'messages must be a messageLifecycle()', messages)
  const calls = new CallRecords(recorder.runs, recorder.now)
  const hooks: Pick<Callback, 'run' | 'agent' | 'tool'> = {
    run: { onStart: (info, input) => calls.runStart(info, input) },
    agent: { onStart: (info, input) => calls.agentStart(info, input) },
    tool: {
      onStart: (info, input) => calls.start(info, input),
      onEnd: (info, result) => calls.end(info, result),
      onError: (info, error) => calls.fail(info, error),
    },
  }
  return { name: 'tool-lifecycle', ...(recorder.mode !== 'off' && hooks) }
}
