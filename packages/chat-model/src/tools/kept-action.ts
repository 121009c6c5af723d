import type { AgentAction, Message, ToolCall, ToolMessage } from '@troupe/kernel'

/** The action of an answered call (exit, transfer, break-loop, direct result), kept until the calls beside it have settled. */
export type KeptAction = NonNullable<ToolMessage['kept']>

/** The action or the direct result that a turn ends with, if any. */
interface TurnDecision {
  readonly action: AgentAction | undefined
  /** The result that is returned directly. */
  readonly direct: ToolMessage | undefined
}

/** Decides between the actions of a turn, including those from before an interrupt. Contract: of one kind, the last listed wins. */
export function decideTurn(
  calls: readonly ToolCall[],
  messages: readonly Message[],
  agentName: string,
  keptActions?: ReadonlyMap<string, KeptAction>,
): TurnDecision {
  const actions: AgentAction[] = []
  let direct: ToolMessage | undefined
  for (const { id } of calls) {
    const result = messages.findLast((message) => message.role === 'tool' && message.callId === id) as
      | ToolMessage
      | undefined
    // An action that another agent has kept is not for this one.
    const keptAction = keptActions?.get(id) ?? (result?.agentName === agentName ? result.kept : undefined)
    if (!keptAction) continue
    actions.push(...keptAction.actions)
    if (keptAction.direct) direct = result
  }
  return { action: strongest(actions), direct }
}

const RANKS: Record<AgentAction['type'], number> = {
  custom: 0,
  interrupt: 0,
  'break-loop': 1,
  'transfer-to-agent': 2,
  exit: 3,
}

/** Whether an action decides what happens next. */
export function steers({ type }: AgentAction): boolean {
  return RANKS[type] > 0
}

/** The action that decides: exit before transfer before break-loop, and of one kind the last. */
function strongest(actions: readonly AgentAction[]): AgentAction | undefined {
  let chosen: AgentAction | undefined
  for (const action of actions) {
    if (steers(action) && RANKS[action.type] >= RANKS[chosen?.type ?? 'custom']) chosen = action
  }
  return chosen
}
