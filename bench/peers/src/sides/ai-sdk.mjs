/** The AI SDK: `generateText` and `streamText`, which are what its agents call; no telemetry integration is registered. */
import { generateText, isStepCount, jsonSchema, streamText, tool } from 'ai'
import { add, done, priorMessages, QUESTION } from '../script.mjs'
import { model } from './ai-sdk-model.mjs'

export const packages = ['ai', 'zod']
export const imports = ['ai']

export const tools = {
  add: tool({
    description: 'Adds.',
    inputSchema: jsonSchema({
      type: 'object',
      properties: { a: { type: 'number' }, b: { type: 'number' } },
      required: ['a', 'b'],
    }),
    execute: add,
  }),
}
const stopWhen = isStepCount(20)

export function invoke({ steps = 0, prior = 0 }) {
  const chat = model(steps, 1)
  const messages = [
    ...priorMessages(prior, (content, user) => ({ role: user ? 'user' : 'assistant', content })),
    { role: 'user', content: QUESTION },
  ]
  return async () => (await generateText({ model: chat, tools, stopWhen, messages })).text
}

export function stream({ steps = 0, deltas = 1 }) {
  const chat = model(steps, deltas)
  const messages = [{ role: 'user', content: QUESTION }]
  return async () => {
    let text = ''
    for await (const delta of streamText({ model: chat, tools, stopWhen, messages }).textStream) {
      done.deltas++
      text += delta
    }
    return text
  }
}

export const transfer = 'has sub-agents as tools, which return to their caller, but no transfer'
