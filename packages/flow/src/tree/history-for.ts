import type { Awaitable, Message, RunContext, ToolMessage } from '@troupe/kernel'
import { repairHistory } from '@troupe/kernel/history'
import type { FlowNode } from './flow-node.ts'
import { seenBy } from './rewrite-history.ts'

/** Makes the history that an agent sees; `continues` says that it goes on where it was waiting. */
export function historyFor(
  { name, options }: FlowNode,
  messages: readonly Message[],
  ctx: RunContext,
  continues: boolean,
): Awaitable<readonly Message[]> {
  const { historyRewriter } = options
  const said = continues ? messages : withoutKept(messages)
  if (!historyRewriter) return seenBy(said, name, options)
  return repaired(historyRewriter(said, ctx.derive({ agentName: name })))
}

/** Repairs calls and results that a rewriter has separated; the stored thread is not affected. */
async function repaired(messages: Awaitable<readonly Message[]>): Promise<readonly Message[]> {
  return repairHistory(await messages)
}

/** Removes actions that were kept beside an open call: they were carried out when the call got its result, and must not affect an agent that starts again. */
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
