import { chatModelAgent } from '@troupe/chat-model'
import { defineTool } from '@troupe/kernel'
import { startRun } from '@troupe/kernel/run'
import { AgentRegistry, defineAgent } from '@troupe/subagent'
import { scriptedModel } from '@troupe/testkit'

// 1. Define the agent: what it is called with, what it is told, which tools it gets.
const myAgent = defineAgent({
  name: 'my_agent',
  description: 'Does something useful',
  input: { inputs: { task: { description: 'Task to perform', type: 'string', required: true } } },
  prompt: 'You know your way around a code base.',
  tools: ['list_files'],
})

const listFiles = defineTool({
  name: 'list_files',
  description: 'The files of the project.',
  parameters: { type: 'object' },
  kind: 'read',
  invoke: () => 'auth.ts, main.ts',
})

// Any chat model works here; this one says what it is told to say.
const model = scriptedModel([
  { toolCalls: [{ name: 'my_agent', arguments: { task: 'Analyze the codebase' } }] },
  { toolCalls: [{ name: 'list_files' }] },
  { toolCalls: [{ name: 'complete_task', arguments: { result: 'Two files; logging in is in auth.ts.' } }] },
  'Logging in is in auth.ts.',
])

// 2. Register it. 3. The registry wraps it as a tool.
const agents = new AgentRegistry({ factory: chatModelAgent, model, tools: [listFiles] })
agents.registerAgent(myAgent)
const [tool] = agents.tools()
console.log(tool?.name, JSON.stringify(tool?.parameters))

// 4. The main agent has it among its tools. 5. It calls it, and what happens inside is in the same stream.
const lead = chatModelAgent({ name: 'lead', model, tools: agents.tools() })
const run = startRun(lead, 'Where do people log in?')
for await (const event of run) {
  const indent = '  '.repeat(event.runPath.length)
  if (event.type === 'tool-start') console.log(`${indent}${event.agentName} → ${event.name} ${event.arguments}`)
  if (event.type === 'tool-end') console.log(`${indent}${event.agentName} ← ${event.content}`)
  if (event.type === 'tool-end' && event.name === 'my_agent') console.log(event.data)
}
console.log((await run).text)
