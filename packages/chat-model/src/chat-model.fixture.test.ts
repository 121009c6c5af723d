import type { AgentEvent } from '@troupe/kernel'
import { expect, test } from 'vitest'
import { calling, expectSound, runAgent, streaming } from './chat-model.fixture.ts'

const stamp = { runId: 'R', agentName: 'a', runPath: [] }
const late: Record<string, (messageId: string) => AgentEvent> = {
  'text-delta': (messageId) => ({ ...stamp, type: 'text-delta', messageId, delta: '!' }),
  'reasoning-delta': (messageId) => ({ ...stamp, type: 'reasoning-delta', messageId, delta: '!' }),
  'tool-call-start': (messageId) => ({ ...stamp, type: 'tool-call-start', messageId, callId: 'x', name: 's' }),
  'tool-call-delta': () => ({ ...stamp, type: 'tool-call-delta', callId: 's', delta: '!' }),
  'tool-delta': () => ({ ...stamp, type: 'tool-delta', callId: 's', delta: '!' }),
}
test.each(Object.entries(late))('expectSound notices a %s after the end', async (_, event) => {
  const finished = await runAgent([calling('s'), 'Done.'], { tools: [streaming('s')] })
  expectSound(finished)
  const id = finished.events.find((one) => one.type === 'message-end')?.message.id ?? expect.fail('no message')
  expect(() => expectSound({ ...finished, events: finished.events.toSpliced(-1, 0, event(id)) })).toThrow()
})
