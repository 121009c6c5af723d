import { type AgUiHandler, agUiHandler } from '@troupe/ag-ui'
import { chatModelAgent } from '@troupe/chat-model'
import { runner, setSubAgents } from '@troupe/flow'
import { historyBudget, type LogLine, logging, toolCache, toolCallLimit } from '@troupe/handlers'
import { defineTool } from '@troupe/kernel'
import { memoryStore } from '@troupe/kernel/memory-store'
import { messageLifecycle, toolLifecycle } from '@troupe/persistence'
import { AgentRegistry } from '@troupe/subagent'
import { parseAgent } from '@troupe/subagent/markdown'
import { scriptedModel } from './scripted-model.ts'

const multiply = defineTool({
  name: 'multiply',
  kind: 'think',
  description: 'Multiplies two numbers.',
  parameters: {
    type: 'object',
    properties: { a: { type: 'number' }, b: { type: 'number' } },
    required: ['a', 'b'],
  },
  effect: 'pure',
  // Takes a while, as a call over the network does.
  invoke: async (args) => {
    const { a, b } = args as { a: number; b: number }
    await new Promise((resolve) => setTimeout(resolve, 200))
    return String(a * b)
  },
})

const wait = defineTool({
  name: 'wait',
  description: 'Waits until the run is cancelled.',
  parameters: { type: 'object' },
  invoke: (_, { signal }) =>
    new Promise<never>((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
})

const mathematician = parseAgent(
  `---
name: mathematician
description: Calculates.
input: { inputs: { task: { type: string, description: What to calculate, required: true } } }
tools: [multiply]
---
Calculate: \${task}
`,
  'mathematician.md',
)

/** Serves over AG-UI a router, a desk and a mathematician: every package that runs without Node, in one handler. */
export function deskHandler(log: (line: LogLine) => void = () => {}): AgUiHandler {
  const agents = new AgentRegistry({
    factory: chatModelAgent,
    model: scriptedModel('mathematician', [
      { call: 'multiply', args: { a: 6, b: 7 } },
      (result) => ({ call: 'complete_task', args: { result } }),
    ]),
    tools: [multiply],
  })
  agents.registerAgent(mathematician)
  const desk = chatModelAgent({
    name: 'desk',
    description: 'Answers questions about numbers.',
    model: scriptedModel('desk', [
      { call: 'mathematician', args: { task: '6 times 7' } },
      (result) => `6 times 7 is ${result}.`,
    ]),
    tools: agents.tools(),
    handlers: [logging({ log }), toolCallLimit({ perRun: 10 }), historyBudget({ maxTokens: 10_000 }), toolCache()],
  })
  const router = chatModelAgent({
    name: 'router',
    description: 'Sends questions to the right agent.',
    model: scriptedModel('router', [
      (question) =>
        question === 'Wait.' ? { call: 'wait', args: {} } : { call: 'transfer_to_agent', args: { agent_name: 'desk' } },
    ]),
    tools: [wait],
  })
  const store = memoryStore()
  const messages = messageLifecycle({ store })
  return agUiHandler({
    runner: runner({
      agent: setSubAgents(router, [desk]),
      store,
      callbacks: [messages, toolLifecycle({ messages })],
    }),
    store,
    owner: { app: 'desk', user: 'you' },
  })
}
