/** OpenAI Agents: a `Session` on one table; the package has one in memory and one at OpenAI. */
import { Agent } from '@openai/agents'
import { done, QUESTION } from '../../script.mjs'
import { model, runner, tools } from '../../sides/openai-agents.mjs'
import { PIECES, pastMessages } from '../past-messages.mjs'
import { threadTable } from '../thread-table.mjs'

const status = 'completed'
const forms = {
  question: (_id, content) => ({ type: 'message', role: 'user', content }),
  call: (_id, callId, args) => ({ type: 'function_call', callId, name: 'add', arguments: args, status }),
  result: (_id, callId, text) => {
    return { type: 'function_call_result', callId, name: 'add', status, output: { type: 'text', text } }
  },
  answer: (_id, text) => ({ type: 'message', role: 'assistant', status, content: [{ type: 'output_text', text }] }),
}

export function open(folder) {
  const table = threadTable(folder)
  const agent = new Agent({ name: 'bench', instructions: 'Be brief.', model: model(1, PIECES), tools })
  const sessionOf = (thread) => ({
    getSessionId: async () => thread,
    getItems: async (limit = 1e9) => table.read(thread, limit).rows,
    addItems: async (items) => table.add(thread, table.read(thread, 1).seq, items),
    // A turn that succeeds calls neither.
    popItem: () => Promise.reject(new Error('popItem')),
    clearSession: () => Promise.reject(new Error('clearSession')),
  })
  return {
    seed: (thread, length) => table.add(thread, 0, pastMessages(length, thread, forms)),
    async turn(thread) {
      const run = await runner.run(agent, QUESTION, { session: sessionOf(thread), maxTurns: 20, stream: true })
      let text = ''
      for await (const event of run) {
        if (event.type !== 'raw_model_stream_event' || event.data.type !== 'output_text_delta') continue
        done.deltas++
        text += event.data.delta
      }
      await run.completed
      return text
    },
    close: () => table.close(),
  }
}
