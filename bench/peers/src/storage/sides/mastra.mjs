/** Mastra: an `Agent` with `Memory` on `LibSQLStore`, both with their defaults, so the model sees the last 10 messages. */
import { join } from 'node:path'
import { Agent } from '@mastra/core/agent'
import { LibSQLStore } from '@mastra/libsql'
import { Memory } from '@mastra/memory'
import { done, QUESTION } from '../../script.mjs'
import { model } from '../../sides/ai-sdk-model.mjs'
import { tools } from '../../sides/mastra.mjs'
import { PIECES, pastMessages } from '../past-messages.mjs'

const resourceId = 'bench'

/** The messages of a thread as Mastra keeps them: call, result and answer in one. */
function stored(length, threadId) {
  const began = Date.now() - 1e8
  const all = []
  const add = (id, role, part) => {
    const createdAt = new Date(began + all.length * 1_000)
    all.push({ id, threadId, resourceId, role, createdAt, content: { format: 2, parts: [part] } })
  }
  pastMessages(length, threadId, {
    question: (id, text) => add(id, 'user', { type: 'text', text }),
    call: (id, toolCallId, args) => {
      const invocation = { state: 'result', toolCallId, toolName: 'add', args: JSON.parse(args), result: '3' }
      add(id, 'assistant', { type: 'tool-invocation', toolInvocation: invocation })
    },
    result: () => undefined,
    answer: (_id, text) => all.at(-1).content.parts.push({ type: 'step-start' }, { type: 'text', text }),
  })
  return all
}

export async function open(folder) {
  const storage = new LibSQLStore({ id: 'bench', url: `file:${join(folder, 'mastra.db')}` })
  await storage.init()
  const memory = new Memory({ storage })
  const agent = new Agent({
    id: 'bench',
    name: 'bench',
    instructions: 'Be brief.',
    model: model(1, PIECES),
    tools,
    memory,
    maxRetries: 0,
  })
  return {
    async seed(threadId, length) {
      await memory.createThread({ threadId, resourceId, title: threadId })
      const messages = stored(length, threadId)
      for (let at = 0; at < messages.length; at += 500) {
        await memory.saveMessages({ messages: messages.slice(at, at + 500) })
      }
    },
    async turn(thread) {
      const { textStream } = await agent.stream(QUESTION, { memory: { thread, resource: resourceId }, maxSteps: 20 })
      let text = ''
      for await (const delta of textStream) {
        done.deltas++
        text += delta
      }
      return text
    },
    close: () => storage.close?.(),
  }
}
