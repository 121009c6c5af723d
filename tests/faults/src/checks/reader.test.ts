import type { AgentEvent, EventDraft } from '@troupe/kernel'
import { expect, test } from 'vitest'
import { Findings } from './findings.ts'
import { Reader } from './reader.ts'

const STAMP = { runId: 'R1', agentName: 'a', runPath: [] }
const call = { id: 'c1', name: 'pay', arguments: '{}' }
const cut = { id: 'm1', role: 'assistant', content: 'so', partial: true } as const
const whole = { id: 'm2', role: 'assistant', content: 'so', toolCalls: [call] } as const

const BEGUN: readonly EventDraft[] = [
  { type: 'message-start', messageId: 'm1' },
  { type: 'text-delta', messageId: 'm1', delta: 'so' },
  { type: 'tool-call-start', messageId: 'm1', callId: 'c1', name: 'pay' },
  { type: 'tool-call-end', call },
]
const CUT_OFF: readonly EventDraft[] = [
  { type: 'tool-end', callId: 'c1', messageId: 'r0', name: 'pay', status: 'dropped', content: '' },
  { type: 'message-end', message: cut },
]
const AGAIN: readonly EventDraft[] = [
  { type: 'message-start', messageId: 'm2' },
  { type: 'text-delta', messageId: 'm2', delta: 'so' },
  { type: 'tool-call-start', messageId: 'm2', callId: 'c1', name: 'pay' },
  { type: 'tool-call-end', call },
  { type: 'message-end', message: whole },
  { type: 'tool-start', callId: 'c1', name: 'pay', arguments: '{}' },
  { type: 'tool-end', callId: 'c1', messageId: 'r1', name: 'pay', status: 'complete', content: 'paid' },
]

function violationsOf(...drafts: readonly EventDraft[]): readonly string[] {
  const findings = new Findings()
  const events = [{ type: 'run-start' }, ...drafts].map((draft) => ({ ...draft, ...STAMP }) as AgentEvent)
  new Reader(findings, events)
  return findings.violations
}

test('a call that was cut off with its answer comes again when the answer is taken back', () => {
  expect(violationsOf(...BEGUN, ...CUT_OFF, { type: 'message-end', message: cut, dropped: true }, ...AGAIN)).toEqual([])
})

test('a call that was cut off with an answer that stays must not run', () => {
  expect(violationsOf(...BEGUN, ...CUT_OFF, ...AGAIN).join()).toContain('only if the answer that it was cut off with')
})

test('a call that ends twice is found', () => {
  expect(violationsOf(...AGAIN, AGAIN[6] as EventDraft).join()).toContain('ends once at most')
})
