/** By hand: the loop without a framework, and one table; each turn is one read and one transaction. */
import { done, QUESTION } from '../../script.mjs'
import { model, streamed } from '../../sides/hand-written.mjs'
import { PIECES, pastMessages } from '../past-messages.mjs'
import { threadTable } from '../thread-table.mjs'

const forms = {
  question: (_id, content) => ({ role: 'user', content }),
  call: (_id, callId, args) => ({
    role: 'assistant',
    content: '',
    toolCalls: [{ type: 'tool-call', id: callId, name: 'add', arguments: args }],
  }),
  result: (_id, callId, content) => ({ role: 'tool', callId, name: 'add', content }),
  answer: (_id, content) => ({ role: 'assistant', content, toolCalls: [] }),
}

export function open(folder, { last }) {
  const table = threadTable(folder)
  const chat = model(1, PIECES)
  return {
    seed: (thread, length) => table.add(thread, 0, pastMessages(length, thread, forms)),
    async turn(thread) {
      const { rows, seq } = table.read(thread, last)
      let end
      for await (const part of streamed(chat, [...rows, { role: 'user', content: QUESTION }])) {
        if (part.type === 'text-delta') done.deltas++
        if (part.type === 'end') end = part
      }
      table.add(thread, seq, end.messages.slice(rows.length))
      return end.text
    },
    close: () => table.close(),
  }
}
