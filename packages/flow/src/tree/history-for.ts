import type { Awaitable, Message, RunContext, ToolMessage } from '@troupe/kernel'
import { repairHistory } from '@troupe/kernel/history'
import type { FlowAgent } from './flow-agent.ts'
import { seenBy } from './rewrite-history.ts'

/** What an agent sees of what all have said; `continues` if it goes on where it waited. */
export function historyFor(
  { name, options }: FlowAgent,
  messages: readonly Message[],
  ctx: RunContext,
  continues: boolean,
): Awaitable<readonly Message[]> {
  const { historyRewriter } = options
  const said = continues ? messages : withoutKept(messages)
  if (!historyRewriter) return seenBy(said, name, options)
  return soundly(historyRewriter(said, ctx.derive({ agentName: name })))
}

/** What a rewriter tears apart is mended for the agent alone: the thread has it whole. */
async function soundly(messages: Awaitable<readonly Message[]>): Promise<readonly Message[]> {
  return repairHistory(await messages)
}

/** What was kept beside an open call was applied when that was answered; an agent that speaks anew is not bound by it. */
function withoutKept(messages: readonly Message[]): readonly Message[] {
  let from = messages.length
  while (messages[from - 1]?.role === 'tool') from--
  const results = messages.slice(from)
  if (!results.some((message) => message.role === 'tool' && message.kept)) return messages
  return messages.slice(0, from).concat(
    results.map((message) => {
      const { kept: _, ...rest } = message as ToolMessage
      return rest
    }),
  )
}
