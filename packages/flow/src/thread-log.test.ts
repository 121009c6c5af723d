import type { AgentEvent, Message } from '@troupe/kernel'
import { expect, it } from 'vitest'
import { ThreadLog } from './thread-log.ts'

const stamp = { runId: 'r', agentName: 'a', runPath: [] }
const calls: Message = {
  id: 'm',
  role: 'assistant',
  content: '',
  toolCalls: ['c1', 'c2'].map((id) => ({ id, name: 'tool', arguments: '{}' })),
}
const ended = (callId: string): AgentEvent => ({
  type: 'tool-end',
  ...stamp,
  callId,
  messageId: `${callId}/result`,
  name: 'tool',
  status: 'complete',
  content: callId,
})

it('after results that came in another order than their calls, the state is that after the last one that came', () => {
  const log = new ThreadLog([])
  log.add(calls)
  log.record({ type: 'state-delta', ...stamp, set: { by: 'c2', second: true, gone: true }, removed: [] })
  log.record(ended('c2'))
  log.record({ type: 'state-delta', ...stamp, set: { by: 'c1', first: true }, removed: ['gone'] })
  log.record(ended('c1'))
  log.settle()
  const [, one, two] = log.newMessages
  expect([one, two].map((message) => message?.id)).toEqual(['c1/result', 'c2/result'])
  const changes = [one, two].map((message) => message && Object.fromEntries(log.changesAt(message) ?? []))
  expect(changes).toEqual([
    { by: 'c1', first: true, gone: undefined },
    { by: 'c1', first: true, second: true, gone: undefined },
  ])
})
