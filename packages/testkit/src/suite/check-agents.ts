import type { AgentEvent } from '@troupe/kernel'
import { demand } from '../fault.ts'

/** The order of agents in a run: each shows its events between its start and its end, and its path names the agents that led to it. */
export function checkAgents(events: readonly AgentEvent[]): void {
  const running = new Map<string, number>()
  const known = new Set<string>()
  for (const event of events) {
    const { type, runId, agentName, runPath } = event
    const key = keyOf(runId, runPath, agentName)
    if (type === 'agent-start') {
      const [by] = runPath.slice(-1)
      const from = by === undefined || known.has(keyOf(runId, runPath.slice(0, -1), by))
      demand(
        from || event.parentRunId !== undefined,
        `The agent ${agentName} starts with the path [${runPath.join(', ')}], but no such agent ran before it`,
      )
      known.add(key)
      running.set(key, (running.get(key) ?? 0) + 1)
    } else if (type === 'agent-end') {
      demand((running.get(key) ?? 0) > 0, `The agent ${agentName} ends (agent-end) without having started`)
      running.set(key, (running.get(key) ?? 0) - 1)
    } else if (!isOfTheRun(event)) {
      const runs = (running.get(key) ?? 0) > 0
      demand(runs, `The agent ${agentName} shows ${type} outside of its agent-start and agent-end`)
    }
  }
  for (const [key, count] of running) demand(count === 0, `An agent (${key}) starts and never ends`)
}

/** An agent that transfers ends before the next one starts; the path of that one shows the transfer. */
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
      `The agent ${event.agentName} transfers to ${target}, which starts before ${event.agentName} has ended`,
    )
  }
}

/** Whether an event is of the run and not of an agent: its brackets, its last change of state, its error, and the one action that carries all questions. */
function isOfTheRun({ type, ...event }: AgentEvent): boolean {
  if (type === 'run-start' || type === 'run-end' || type === 'state-delta' || type === 'error') return true
  return 'action' in event && event.action.type === 'interrupt'
}

function keyOf(runId: string, runPath: readonly string[], agentName: string): string {
  return [runId, ...runPath, agentName].join(' ')
}
