/** Mastra: an `Agent` without a `Mastra` instance, memory or observability, on the model interface of the AI SDK. */
import { Agent } from '@mastra/core/agent'
import { createTool } from '@mastra/core/tools'
import { z } from 'zod'
import { add, done, priorMessages, QUESTION } from '../script.mjs'
import { model } from './ai-sdk-model.mjs'

export const packages = ['@mastra/core', 'zod']
export const imports = ['@mastra/core/agent', '@mastra/core/tools']

export const tools = {
  add: createTool({
    id: 'add',
    description: 'Adds.',
    inputSchema: z.object({ a: z.number(), b: z.number() }),
    execute: async (input) => add(input),
  }),
}
const agentOf = (chat) =>
  new Agent({ id: 'bench', name: 'bench', instructions: 'Be brief.', model: chat, tools, maxRetries: 0 })
const options = { maxSteps: 20 }

export function invoke({ steps = 0, prior = 0 }) {
  const agent = agentOf(model(steps, 1))
  const messages = [
    ...priorMessages(prior, (content, user) => ({ role: user ? 'user' : 'assistant', content })),
    { role: 'user', content: QUESTION },
  ]
  return async () => (await agent.generate(messages, options)).text
}

export function stream({ steps = 0, deltas = 1 }) {
  const agent = agentOf(model(steps, deltas))
  const messages = [{ role: 'user', content: QUESTION }]
  return async () => {
    let text = ''
    for await (const delta of (await agent.stream(messages, options)).textStream) {
      done.deltas++
      text += delta
    }
    return text
  }
}

export const transfer = 'has sub-agents as tools, which return to their caller, but no transfer'
