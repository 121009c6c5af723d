import { chatModelAgent } from '@troupe/chat-model'
import { breakLoopTool, loop, runner, setSubAgents } from '@troupe/flow'
import { toolCache } from '@troupe/handlers'
import { scriptedModel } from '@troupe/testkit'
import { expect, test } from 'vitest'

test('an equal transfer is made again, not answered from the cache', async () => {
  const toB = { toolCalls: [{ name: 'transfer_to_agent', arguments: { agent_name: 'B' } }] }
  const handlers = [toolCache()]
  const a = chatModelAgent({ name: 'A', model: scriptedModel([toB, toB]), handlers })
  const b = chatModelAgent({ name: 'B', model: scriptedModel(['first', 'second']), handlers })
  const desk = runner({ agent: setSubAgents(a, [b]) })
  expect([(await desk.run('one')).text, (await desk.run('two')).text]).toEqual(['first', 'second'])
})

test('an equal break ends the loop again', async () => {
  const respond = { toolCalls: [{ name: 'respond', arguments: { response: 'done' } }] }
  const critic = chatModelAgent({
    name: 'critic',
    model: scriptedModel([respond, respond, 'should not be asked']),
    tools: [breakLoopTool()],
    handlers: [toolCache()],
  })
  const desk = runner({ agent: loop({ name: 'rounds', agents: [critic], maxIterations: 2 }) })
  for (const round of [1, 2]) {
    const { messages } = await desk.run('go')
    expect([round, messages.filter(({ role }) => role === 'assistant').length]).toEqual([round, 1])
  }
})
