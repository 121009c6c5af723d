import type { AgentEvent } from '@troupe/kernel'
import { demand, demandEqual } from '../fault.ts'

/** A run has its brackets, and each agent in it. */
export function checkRun(events: readonly AgentEvent[]): void {
  const runId = events[0]?.runId
  const own = events.filter((event) => event.runId === runId).map(({ type }) => type)
  const brackets = own.filter((type) => type === 'run-start' || type === 'run-end')
  demandEqual(brackets, ['run-start', 'run-end'], 'The run does not start and end once')
  demand(own[0] === 'run-start', `The run begins with ${own[0]}, not with run-start`)
  demand(own.at(-1) === 'run-end', `The run ends with ${own.at(-1)}, not with run-end`)
  const starts = own.filter((type) => type === 'agent-start').length
  const ends = own.filter((type) => type === 'agent-end').length
  demand(starts > 0, 'The run shows no agent-start')
  demand(ends === starts, `The run shows ${starts} agent-start and ${ends} agent-end, where each start has its end`)
}

/** Each message begins, grows and ends once. */
export function checkMessages(events: readonly AgentEvent[]): void {
  const open = new Set<string>()
  const ended = new Set<string>()
  for (const event of events) {
    if (event.type === 'message-start') {
      const begun = open.has(event.messageId) || ended.has(event.messageId)
      demand(!begun, `The agent begins message ${event.messageId} twice`)
      open.add(event.messageId)
    }
    if (event.type === 'text-delta' || event.type === 'reasoning-delta' || event.type === 'tool-call-start') {
      demand(
        open.has(event.messageId),
        `The agent shows ${event.type} for message ${event.messageId}, which is not open`,
      )
    }
    if (event.type === 'message-end') {
      demand(open.delete(event.message.id), `The agent ends message ${event.message.id}, which is not open`)
      ended.add(event.message.id)
    }
  }
  demand(open.size === 0, `The agent never ends message ${[...open].join(', ')}`)
}

/** Each call is asked for, started and answered once, unless it is excused. */
export function checkToolCalls(events: readonly AgentEvent[]): void {
  const asked = new Set<string>()
  const started = new Set<string>()
  const answered = new Set<string>()
  const unasked = new Set<string>()
  for (const event of events) {
    if (event.type === 'message-end' && !event.dropped)
      for (const { id } of event.message.toolCalls ?? []) asked.add(id)
    if (event.type === 'tool-call-end') unasked.add(event.call.id)
    if (event.type === 'tool-start') {
      demand(asked.has(event.callId), `The agent starts call ${event.callId}, which no message of it asked for`)
      demand(!started.has(event.callId), `The agent starts call ${event.callId} twice`)
      started.add(event.callId)
    }
    if (event.type === 'tool-end') {
      demand(!answered.has(event.callId), `The agent answers call ${event.callId} twice`)
      const known = asked.has(event.callId) || (event.status === 'dropped' && unasked.has(event.callId))
      demand(known, `The agent answers call ${event.callId}, which no message of it asked for`)
      answered.add(event.callId)
    }
    if (event.type === 'run-end' && event.parentCallId === undefined) {
      const excused = [...(event.openCallIds ?? []), ...(event.interrupts ?? []).flatMap(({ callId }) => callId ?? [])]
      for (const id of asked) {
        demand(answered.has(id) || excused.includes(id), `The agent ends its run without an answer to call ${id}`)
      }
    }
  }
}
