import type { AgentEvent } from '@troupe/kernel'
import { demand } from '../fault.ts'

/** Who speaks when: the rules for runs in which several agents take part. */
export function checkAgents(events: readonly AgentEvent[]): void {
  const speaking = new Map<string, number>()
  const known = new Set<string>()
  for (const event of events) {
    const { type, runId, agentName, runPath } = event
    const key = placeOf(runId, runPath, agentName)
    if (type === 'agent-start') {
      const [by] = runPath.slice(-1)
      const from = by === undefined || known.has(placeOf(runId, runPath.slice(0, -1), by))
      demand(
        from || event.parentRunId !== undefined,
        `The agent ${agentName} starts with the path [${runPath.join(', ')}], but no such agent ran before it`,
      )
      known.add(key)
      speaking.set(key, (speaking.get(key) ?? 0) + 1)
    } else if (type === 'agent-end') {
      demand((speaking.get(key) ?? 0) > 0, `The agent ${agentName} ends (agent-end) without having started`)
      speaking.set(key, (speaking.get(key) ?? 0) - 1)
    } else if (!isOfTheRun(event)) {
      const speaks = (speaking.get(key) ?? 0) > 0
      demand(speaks, `The agent ${agentName} shows ${type} outside of its agent-start and agent-end`)
    }
  }
  for (const [key, count] of speaking) demand(count === 0, `An agent (${key}) starts and never ends`)
}

/** A transfer shows in the path of the one who takes over. */
export function checkTransfers(events: readonly AgentEvent[]): void {
  const own = events.filter(({ runId }) => runId === events[0]?.runId)
  for (const [i, event] of own.entries()) {
    if (event.type !== 'action' || event.action.type !== 'transfer-to-agent') continue
    const { agentName: target } = event.action
    const path = [...event.runPath, event.agentName]
    const rest = own.slice(i + 1)
    const taken = rest.findIndex(
      ({ type, agentName, runPath }) =>
        type === 'agent-start' && agentName === target && runPath.join('\0') === path.join('\0'),
    )
    if (taken === -1) continue
    const ended = rest.findIndex(
      ({ type, agentName, runPath }) =>
        type === 'agent-end' && agentName === event.agentName && runPath.join('\0') === event.runPath.join('\0'),
    )
    const inTime = ended >= 0 && ended < taken
    demand(
      inTime,
      `The agent ${event.agentName} hands over to ${target}, which starts before ${event.agentName} has ended`,
    )
  }
}

/** What a run tells beside its agents: its brackets, its last change of state, its error, and the one action that carries all questions. */
function isOfTheRun({ type, ...event }: AgentEvent): boolean {
  if (type === 'run-start' || type === 'run-end' || type === 'state-delta' || type === 'error') return true
  return 'action' in event && event.action.type === 'interrupt'
}

function placeOf(runId: string, runPath: readonly string[], agentName: string): string {
  return [runId, ...runPath, agentName].join(' ')
}
