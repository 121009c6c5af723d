/** A client in the terminal: `npm run ask -- "Pay invoice 7"`, with `--thread <id>` to go on in a conversation. It goes on with another replica if its own is gone. */
import { userInfo } from 'node:os'
import { createInterface } from 'node:readline'
import { parseArgs } from 'node:util'
import { ResumableHttpAgent } from '@troupe/ag-ui/client'
import { tokensWith } from './tokens.ts'

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { thread: { type: 'string', default: crypto.randomUUID() }, url: { type: 'string' } },
})
const { TOKEN_SECRET, PORT } = process.env
const url = values.url ?? `http://127.0.0.1:${PORT || 8000}/agent`
const agent = new ResumableHttpAgent({
  url,
  threadId: values.thread,
  headers: TOKEN_SECRET ? { authorization: `Bearer ${tokensWith(TOKEN_SECRET).tokenOf(userInfo().username)}` } : {},
  // Half a minute passes until the lease of a replica that was killed has expired.
  reconnect: { attempts: 100 },
})
let failure: string | undefined
agent.subscribe({
  onTextMessageContentEvent: ({ event }) => void process.stdout.write(event.delta),
  onTextMessageEndEvent: () => void process.stdout.write('\n'),
  onRunErrorEvent: ({ event }) => {
    failure = `${event.code}: ${event.message}`
  },
})
const lines = createInterface({ input: process.stdin, output: process.stdout })
const typed = lines[Symbol.asyncIterator]()

/** Asks what the agent wants to know, and gives the answers in the form of AG-UI. */
async function answers() {
  const resume = []
  for (const { id: interruptId, message } of agent.pendingInterrupts) {
    process.stdout.write(`? ${message} [y/n] `)
    const { done, value } = await typed.next()
    if (done) throw new Error(`\nThe question stays open: npm run ask -- --thread ${values.thread}`)
    resume.push({ interruptId, status: 'resolved' as const, payload: { approved: /^\s*y/i.test(value) } })
  }
  return resume
}

/** Asks until nothing is open. */
async function settle() {
  while (agent.pendingInterrupts.length > 0 && failure === undefined) await agent.runAgent({ resume: await answers() })
}

try {
  // A server that dies later is waited for; one that was never there is not.
  await fetch(url).catch(() => {
    throw new Error(`There is no server at ${url}. Start one with npm start, or give another address with --url.`)
  })
  await agent.connectAgent()
  const text = positionals.join(' ').trim()
  const hasQuestions = agent.pendingInterrupts.length > 0
  await settle()
  if (failure === undefined && (text !== '' || !hasQuestions)) {
    agent.addMessage({ id: crypto.randomUUID(), role: 'user', content: text || 'Hello' })
    await agent.runAgent()
    await settle()
  }
  if (failure !== undefined) throw new Error(failure)
} catch (error) {
  console.error(error instanceof Error ? error.message : error)
  process.exitCode = 1
} finally {
  lines.close()
}
