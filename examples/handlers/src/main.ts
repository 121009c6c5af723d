/** Runs an agent with each of the three kinds of extension in this folder and prints what they change. */
import { chatModelAgent } from '@troupe/chat-model'
import { defineTool } from '@troupe/kernel'
import { startRun } from '@troupe/kernel/run'
import { scriptedModel } from '@troupe/testkit'
import { CachingHandler } from './caching-handler.ts'
import { newAgent } from './new-api.ts'
import { oldAgent } from './old-api.ts'

const print = (line: string) => console.log(`  ${line}`)
const clock = defineTool({
  name: 'clock',
  description: 'The time in a city.',
  parameters: { type: 'object', properties: { city: { type: 'string' } } },
  effect: 'pure',
  invoke({ city }) {
    print(`clock runs for ${city}`)
    return `It is noon in ${city}.`
  },
})
// Any chat model works here; these give prepared answers, so that no key is needed.
const callClock = { toolCalls: [{ id: 'c1', name: 'clock', arguments: { city: 'Rome' } }] }

console.log('old API')
const oldModel = scriptedModel(['Hello.'])
await startRun(oldAgent(oldModel, clock), 'Hello')
print(`instruction: ${oldModel.requests[0]?.instruction.replaceAll('\n', ' / ')}`)

console.log('new API')
const newModel = scriptedModel([callClock, 'It is noon.'])
await startRun(newAgent(newModel, [], clock, print), 'What time is it in Rome?')

console.log('a handler with state')
const model = scriptedModel([callClock, callClock, 'It is noon.'])
const agent = chatModelAgent({ name: 'MyAgent', model, tools: [clock], handlers: [new CachingHandler()] })
await startRun(agent, 'What time is it in Rome?')
print(`model calls: ${model.requests.length}`)
