/** The AI SDK: `streamText`; it has no store, so all messages come from one table and the new ones go there. */
import { isStepCount, streamText } from 'ai'
import { done, QUESTION } from '../../script.mjs'
import { tools } from '../../sides/ai-sdk.mjs'
import { model } from '../../sides/ai-sdk-model.mjs'
import { PIECES, pastMessages } from '../past-messages.mjs'
import { threadTable } from '../thread-table.mjs'

const part = (type, callId, more) => [{ type, toolCallId: callId, toolName: 'add', ...more }]
const forms = {
  question: (_id, content) => ({ role: 'user', content }),
  call: (_id, callId, args) => ({ role: 'assistant', content: part('tool-call', callId, { input: JSON.parse(args) }) }),
  result: (_id, callId, value) => {
    return { role: 'tool', content: part('tool-result', callId, { output: { type: 'text', value } }) }
  },
  answer: (_id, text) => ({ role: 'assistant', content: [{ type: 'text', text }] }),
}

export function open(folder) {
  const table = threadTable(folder)
  const chat = model(1, PIECES)
  return {
    seed: (thread, length) => table.add(thread, 0, pastMessages(length, thread, forms)),
    async turn(thread) {
      const { rows, seq } = table.read(thread, 1e9)
      const asked = { role: 'user', content: QUESTION }
      const answer = streamText({ model: chat, tools, stopWhen: isStepCount(20), messages: [...rows, asked] })
      let text = ''
      for await (const delta of answer.textStream) {
        done.deltas++
        text += delta
      }
      // `response.messages` has those of the last step alone.
      const said = await answer.responseMessages
      if (said.length !== 3) throw new Error(`${said.length} messages to save`)
      table.add(thread, seq, [asked, ...said])
      return text
    },
    close: () => table.close(),
  }
}
