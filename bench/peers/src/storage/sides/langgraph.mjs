/** LangGraph: `createAgent` with `SqliteSaver` at its default durability. */
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { AIMessage, HumanMessage, ToolMessage } from '@langchain/core/messages'
import { SqliteSaver } from '@langchain/langgraph-checkpoint-sqlite'
import { createAgent } from 'langchain'
import { done, QUESTION } from '../../script.mjs'
import { Model, tools } from '../../sides/langgraph.mjs'
import { PIECES, pastMessages } from '../past-messages.mjs'

const forms = {
  question: (id, content) => new HumanMessage({ id, content }),
  call: (id, callId, args) => {
    const call = { id: callId, name: 'add', args: JSON.parse(args), type: 'tool_call' }
    return new AIMessage({ id, content: '', tool_calls: [call] })
  },
  result: (id, callId, content) => new ToolMessage({ id, tool_call_id: callId, name: 'add', content }),
  answer: (id, content) => new AIMessage({ id, content }),
}

/** The interface of better-sqlite3 on node:sqlite, with statements that are kept, because its native build cannot be installed everywhere. */
function betterSqlite(path) {
  const database = new DatabaseSync(path)
  const kept = new Map()
  const bindable = (values) => values.map((value) => value ?? null)
  const wrap = (statement) => ({
    run: (...values) => statement.run(...bindable(values)),
    get: (...values) => statement.get(...bindable(values)),
    all: (...values) => statement.all(...bindable(values)),
  })
  return {
    pragma: (text) => database.prepare(`pragma ${text}`).all(),
    exec: (sql) => database.exec(sql),
    prepare(sql) {
      if (!kept.has(sql)) kept.set(sql, wrap(database.prepare(sql)))
      return kept.get(sql)
    },
    transaction: (work) => {
      return (...values) => {
        database.exec('begin')
        const result = work(...values)
        database.exec('commit')
        return result
      }
    },
    close: () => database.close(),
  }
}

export function open(folder) {
  const database = betterSqlite(join(folder, 'langgraph.db'))
  const checkpointer = new SqliteSaver(database)
  checkpointer.setup()
  database.pragma('synchronous = full')
  const agent = createAgent({ model: new Model(1, PIECES), tools, systemPrompt: 'Be brief.', checkpointer })
  const configOf = (thread) => ({ configurable: { thread_id: thread }, recursionLimit: 50 })
  return {
    async seed(thread, length) {
      if (length === 0) return
      await agent.graph.updateState(configOf(thread), { messages: pastMessages(length, thread, forms) }, '__start__')
    },
    async turn(thread) {
      let text = ''
      const messages = [new HumanMessage(QUESTION)]
      for await (const [message] of await agent.stream({ messages }, { ...configOf(thread), streamMode: 'messages' })) {
        if (message.getType() !== 'ai' || message.content === '') continue
        done.deltas++
        text += message.content
      }
      return text
    },
    close: () => database.close(),
  }
}
