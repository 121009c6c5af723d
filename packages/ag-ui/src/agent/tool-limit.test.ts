import type { AgentEvent, Tool } from '@troupe/kernel'
import { createRunContext } from '@troupe/kernel/run'
import { fakeClock } from '@troupe/testkit'
import { expect, test } from 'vitest'
import { ToolLimit } from './tool-limit.ts'

const pick: Tool = {
  name: 'pick',
  description: '',
  parameters: { type: 'object' },
  kind: 'execute',
  longRunning: true,
}
const started: AgentEvent = {
  type: 'tool-start',
  runId: 'r',
  agentName: 'a',
  runPath: [],
  callId: 'c1',
  name: 'pick',
  arguments: '{}',
}
const call = { name: 'pick', arguments: '{}', callId: 'c1', step: 'tool:0:0', idempotencyKey: 'k' }

/** A limit of 10 ms, and the errors by which it has stopped its run. */
function limited() {
  const clock = fakeClock()
  const stops: unknown[] = []
  const limit = new ToolLimit(clock, 10, (error) => stops.push(error.code))
  const [meta] = limit.untimed({ tools: [{ tool: pick, returnDirectly: false }] }).tools ?? []
  return { clock, stops, limit, tool: meta?.tool }
}

test('a call that takes too long stops its run', () => {
  const { clock, stops, limit } = limited()
  limit.see(started)
  clock.advance(10)
  expect(stops).toEqual(['TOOL_TIMEOUT'])
})

test('the time of a call that the client answers ends when it is made', async () => {
  const { clock, stops, limit, tool } = limited()
  limit.see(started)
  await tool?.invoke?.({}, createRunContext({ runId: 'r' }), call)
  clock.advance(10)
  expect([stops, clock.pending]).toEqual([[], 0])
})

test('a call that the client answers is made again when its run is continued, because it is not a recorded step', () => {
  expect(limited().tool).toMatchObject({ name: 'pick', longRunning: true, effect: 'nested' })
})
