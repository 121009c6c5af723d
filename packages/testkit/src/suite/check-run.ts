import type { AgentEvent } from '@troupe/kernel'
import { expect } from 'vitest'

/** A run has its brackets, and each agent in it. */
export function checkRun(events: readonly AgentEvent[]): void {
  const runId = events[0]?.runId
  const own = events.filter((event) => event.runId === runId).map(({ type }) => type)
  expect(own[0]).toBe('run-start')
  expect(own.at(-1)).toBe('run-end')
  expect(own.filter((type) => type === 'run-start' || type === 'run-end')).toHaveLength(2)
  const starts = own.filter((type) => type === 'agent-start').length
  expect(starts).toBeGreaterThan(0)
  expect(own.filter((type) => type === 'agent-end')).toHaveLength(starts)
}

/** Each message begins, grows and ends once. */
export function checkMessages(events: readonly AgentEvent[]): void {
  const open = new Set<string>()
  const ended = new Set<string>()
  for (const event of events) {
    if (event.type === 'message-start') {
      expect(open.has(event.messageId) || ended.has(event.messageId), `message ${event.messageId} begins once`).toBe(
        false,
      )
      open.add(event.messageId)
    }
    if (event.type === 'text-delta' || event.type === 'reasoning-delta' || event.type === 'tool-call-start') {
      expect(open.has(event.messageId), `${event.type} belongs to an open message`).toBe(true)
    }
    if (event.type === 'message-end') {
      expect(open.delete(event.message.id), `message ${event.message.id} was open`).toBe(true)
      ended.add(event.message.id)
    }
  }
  expect([...open], 'messages left open').toEqual([])
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
      expect(asked.has(event.callId), `call ${event.callId} was asked for`).toBe(true)
      expect(started.has(event.callId), `call ${event.callId} starts once`).toBe(false)
      started.add(event.callId)
    }
    if (event.type === 'tool-end') {
      expect(answered.has(event.callId), `call ${event.callId} is answered once`).toBe(false)
      expect(asked.has(event.callId) || (event.status === 'dropped' && unasked.has(event.callId))).toBe(true)
      answered.add(event.callId)
    }
    if (event.type === 'run-end' && event.parentCallId === undefined) {
      const excused = [...(event.openCallIds ?? []), ...(event.interrupts ?? []).flatMap(({ callId }) => callId ?? [])]
      for (const id of asked) if (!excused.includes(id)) expect(answered.has(id), `call ${id} is answered`).toBe(true)
    }
  }
}
