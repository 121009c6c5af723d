import type { AgentAction, Message, ToolCall, ToolMessage } from '@troupe/kernel'

/** What an answered call asks for beyond its result. */
export type Wish = NonNullable<ToolMessage['kept']>

/** What the calls of a turn come to. */
export interface Verdict {
  readonly action: AgentAction | undefined
  /** The result that is returned directly. */
  readonly direct: ToolMessage | undefined
}

/** Weighs what the calls of a turn ask for, now or before it was interrupted. Contract: of one kind, the last listed wins. */
export function weigh(
  calls: readonly ToolCall[],
  messages: readonly Message[],
  agentName: string,
  wishes?: ReadonlyMap<string, Wish>,
): Verdict {
  const actions: AgentAction[] = []
  let direct: ToolMessage | undefined
  for (const { id } of calls) {
    const result = messages.findLast((message) => message.role === 'tool' && message.callId === id) as
      | ToolMessage
      | undefined
    // What another agent has kept is not ours to do.
    const wish = wishes?.get(id) ?? (result?.agentName === agentName ? result.kept : undefined)
    if (!wish) continue
    actions.push(...wish.actions)
    if (wish.direct) direct = result
  }
  return { action: steering(actions), direct }
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

/** The action that steers: exit before transfer before break-loop, and of one kind the last. */
function steering(actions: readonly AgentAction[]): AgentAction | undefined {
  let chosen: AgentAction | undefined
  for (const action of actions) {
    if (steers(action) && RANKS[action.type] >= RANKS[chosen?.type ?? 'custom']) chosen = action
  }
  return chosen
}
