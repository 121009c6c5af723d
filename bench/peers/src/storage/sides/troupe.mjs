/** Troupe: a `runner` with a thread, on `sqliteStore` with its defaults. */
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { troupeFolder } from '../../footprint.mjs'
import { done, QUESTION } from '../../script.mjs'
import { agentOf, model } from '../../sides/troupe.mjs'
import { PIECES, pastMessages } from '../past-messages.mjs'

const { resolve } = createRequire(join(troupeFolder, 'package.json'))
const load = (name) => import(pathToFileURL(resolve(name)).href)
const [{ runner }, { sqliteStore }] = await Promise.all([load('@troupe/flow'), load('@troupe/store-sqlite')])

const agentName = 'bench'
const forms = {
  question: (id, content) => ({ id, role: 'user', content }),
  call: (id, callId, args) => {
    return { id, role: 'assistant', agentName, content: '', toolCalls: [{ id: callId, name: 'add', arguments: args }] }
  },
  result: (id, callId, content) => ({ id, role: 'tool', agentName, callId, name: 'add', content }),
  answer: (id, content) => ({ id, role: 'assistant', agentName, content }),
}

export function open(folder, { durability }) {
  const store = sqliteStore({ path: join(folder, 'troupe.db') })
  const talk = runner({ agent: agentOf(model(1, PIECES)), store, durability })
  const refOf = (threadId) => ({ app: 'bench', user: 'bench', threadId })
  return {
    async seed(threadId, length) {
      const [ref, runId] = [refOf(threadId), `${threadId}-past`]
      await store.threads.open(ref)
      const { token } = await store.leases.acquire(ref, { runId, ttlMs: 60_000 })
      const messages = pastMessages(length, threadId, forms).map((message) => ({ runId, message }))
      for (let at = 0; at < Math.max(length, 1); at += 1_000) {
        await store.threads.commit(ref, { messages: messages.slice(at, at + 1_000) }, token)
      }
      await store.leases.release(ref, token)
    },
    async turn(threadId) {
      let text = ''
      for await (const event of talk.query(QUESTION, { session: refOf(threadId) })) {
        if (event.type !== 'text-delta') continue
        done.deltas++
        text += event.delta
      }
      return text
    },
    close: () => store[Symbol.asyncDispose](),
  }
}
