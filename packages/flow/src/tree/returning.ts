import {
  type Agent,
  type AgentEvent,
  type AgentInput,
  type EventDraft,
  type Message,
  type PipeStream,
  type ResumeInfo,
  type RunContext,
  type Sink,
  stream,
} from '@troupe/kernel'
import { messageOf, openCalls } from '@troupe/kernel/history'
import { pipe } from '@troupe/kernel/kit'
import { isSaidBy } from '@troupe/kernel/run'
import { isComposed, PARTS } from './flow-node.ts'
import { TRANSFER_TOOL, transferResult } from './transfer-tool.ts'

/** Wraps an agent so that it transfers to `target` when it ends. */
export function returning(agent: Agent, target: string): Agent {
  const { name, description, acceptsAdditions, recordsSteps, resume } = agent
  const thenReturn = (
    source: AsyncIterable<EventDraft>,
    { messages }: AgentInput,
    ctx: RunContext,
  ): PipeStream<EventDraft> =>
    stream(async (sink) => {
      const out = new ReturnSink(sink, messages, ctx)
      await pipe(source, out)
      if (!out.steered && openCalls(out.messages).length === 0) await writeTransfer(target, ctx, sink)
    })
  return {
    name,
    description,
    ...(acceptsAdditions && { acceptsAdditions }),
    ...(recordsSteps && { recordsSteps }),
    ...(isComposed(agent) && { [PARTS]: agent[PARTS] }),
    run: (input, ctx) => thenReturn(agent.run(input, ctx), input, ctx),
    ...(resume && {
      resume: (info: ResumeInfo, ctx: RunContext) => thenReturn(resume.call(agent, info, ctx), info, ctx),
    }),
  }
}

/** Notes whether the agent itself has sent an action and which messages it adds; events of nested agents do not count. */
class ReturnSink implements Sink<EventDraft> {
  readonly messages: Message[]
  readonly #sink: Sink<EventDraft>
  readonly #ctx: RunContext
  steered = false

  constructor(sink: Sink<EventDraft>, messages: readonly Message[], ctx: RunContext) {
    this.#sink = sink
    this.#ctx = ctx
    this.messages = messages.slice()
  }

  get closed(): boolean {
    return this.#sink.closed ?? false
  }

  write(draft: EventDraft): void | Promise<void> {
    if (isSaidBy(draft, this.#ctx)) {
      if (draft.type === 'action' && draft.action.type !== 'custom') this.steered = true
      const message = messageOf(draft as AgentEvent)
      if (message) this.messages.push(message)
    }
    return this.#sink.write(draft)
  }
}

/** Writes the events of a transfer as if a model had made it. */
async function writeTransfer(target: string, ctx: RunContext, sink: Sink<EventDraft>): Promise<void> {
  const { agentName } = ctx
  const messageId = ctx.ids.next()
  const callId = ctx.ids.next()
  const args = JSON.stringify({ agent_name: target })
  const call = { id: callId, name: TRANSFER_TOOL, arguments: args }
  const drafts: readonly EventDraft[] = [
    { type: 'message-start', messageId },
    { type: 'tool-call-start', messageId, callId, name: TRANSFER_TOOL },
    { type: 'tool-call-delta', callId, delta: args },
    { type: 'tool-call-end', call },
    { type: 'message-end', message: { id: messageId, role: 'assistant', content: '', toolCalls: [call], agentName } },
    { type: 'tool-start', callId, name: TRANSFER_TOOL, arguments: args },
    {
      type: 'tool-end',
      callId,
      messageId: ctx.ids.next(),
      name: TRANSFER_TOOL,
      status: 'complete',
      content: transferResult(target),
    },
    { type: 'action', action: { type: 'transfer-to-agent', agentName: target } },
  ]
  for (const draft of drafts) await sink.write(draft)
}
