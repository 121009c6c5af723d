import {
  type AgentConfig,
  type AgentInput,
  type EventDraft,
  type EventStamp,
  type Json,
  KernelError,
  type Message,
  type ResumeInfo,
  type RunContext,
  type RunResult,
  type Sink,
} from '@troupe/kernel'
import { inCallOrder, messageOf, openCalls } from '@troupe/kernel/history'
import { NO_USAGE, sinkTo } from '@troupe/kernel/kit'
import { abortError } from './errors/abort-error.ts'
import { Loop } from './loop.ts'
import { type Plan, withToolbox } from './plan.ts'

/** Runs a loop between the `beforeAgent` and the `afterAgent` hooks of its agent. Contract: `afterAgent` gets the result however the run ends. */
export async function hookedLoop(
  plan: Plan,
  config: AgentConfig,
  ctx: RunContext,
  stamp: EventStamp,
  sink: Sink<EventDraft>,
  start: AgentInput | ResumeInfo,
): Promise<void> {
  const { chain } = plan
  const added: Message[] = []
  let loop: Loop | undefined
  let reached = 0
  let current = ctx
  let thrown: { readonly error: unknown } | undefined
  try {
    const prepared = await chain.beforeAgent(ctx, config, (handlers, reachedCtx) => {
      reached = handlers
      current = reachedCtx
    })
    const collecting = collectMessages(sink, stamp, added)
    loop = new Loop(withToolbox(plan, plan.toolbox.holding(config.tools)), config, prepared, stamp, collecting)
    await loop.run(start)
  } catch (error) {
    thrown = { error }
  }
  try {
    await chain.afterAgent(loop?.dialogue.ctx ?? current, resultOf(ctx, loop, start, added, thrown?.error), reached)
  } catch (error) {
    thrown ??= { error }
  }
  if (thrown) throw thrown.error
}

/** Adds the messages of a run to a list on their way to the sink. */
function collectMessages(sink: Sink<EventDraft>, stamp: EventStamp, messages: Message[]): Sink<EventDraft> {
  return sinkTo(sink, (draft: EventDraft) => {
    const message = messageOf({ ...stamp, ...draft })
    if (message) messages.push(message)
    return sink.write(draft)
  })
}

function resultOf(
  ctx: RunContext,
  loop: Loop | undefined,
  start: AgentInput | ResumeInfo,
  messages: readonly Message[],
  thrown: unknown,
): RunResult<Json> {
  const { text = '', usage = NO_USAGE, messages: history = [] } = loop?.dialogue ?? {}
  const result = { text, usage, messages: inCallOrder(messages, start.messages) }
  if (thrown !== undefined) {
    const error = ctx.signal.aborted ? abortError(ctx.signal.reason) : KernelError.from(thrown)
    return { ...result, outcome: error.code === 'ABORTED' ? 'cancelled' : 'failed', error: error.toJSON() }
  }
  const interrupts = loop?.interrupts ?? []
  if (interrupts.length > 0) return { ...result, outcome: 'interrupted', interrupts }
  const open = openCalls(history).map(({ id }) => id)
  return { ...result, outcome: 'complete', ...(open.length > 0 && { openCallIds: open }) }
}
