/** An MCP client in the terminal: it starts the app over stdio, as a host does, and asks its agent. */
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { parseArgs } from 'node:util'
import { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { answersFor } from './answers-for.ts'

const lines = createInterface({ input: process.stdin, output: process.stdout })
const typed = lines[Symbol.asyncIterator]()
const ask = async (question: string): Promise<string | undefined> => {
  process.stdout.write(question)
  const { done, value } = await typed.next()
  return done ? undefined : value
}
// In a terminal readline gets Ctrl-C, and not the process.
lines.on('SIGINT', () => process.kill(process.pid, 'SIGINT'))
const leave = () => lines.close()
process.once('SIGINT', leave).once('SIGTERM', leave)

const client = new Client(
  { name: 'ask', version: '1.0.0' },
  { capabilities: { elicitation: { form: {} } }, versionNegotiation: { mode: 'auto' } },
)
client.setRequestHandler('elicitation/create', async ({ params }) => {
  const content = await answersFor(params, ask)
  return content ? { action: 'accept', content } : { action: 'cancel' }
})
const env = Object.fromEntries(Object.entries(process.env).flatMap(([name, value]) => (value ? [[name, value]] : [])))
const args = ['--disable-warning=ExperimentalWarning', join(import.meta.dirname, 'main.ts'), '--stdio']
try {
  await client.connect(new StdioClientTransport({ command: process.execPath, args, env }))
} catch {
  console.error('The app did not start; what it said is above.')
  process.exit(1)
}

let thread: unknown
const say = async (message: string) => {
  const given = { message, ...(typeof thread === 'string' && { thread }) }
  const result = await client.callTool({ name: 'housekeeper', arguments: given }, { timeout: 600_000 })
  thread = result._meta?.['troupe/thread']
  process.exitCode = result.isError ? 1 : 0
  const texts = result.content.flatMap((content) => (content.type === 'text' ? [content.text] : []))
  // The text that names the thread is for models.
  console.log(texts.filter((text) => text !== `thread: ${thread}`).join('\n'))
}

try {
  const question = parseArgs({ allowPositionals: true }).positionals.join(' ').trim()
  if (question !== '') await say(question)
  else for (let text = await ask('> '); text !== undefined; text = await ask('> ')) if (text.trim()) await say(text)
} finally {
  lines.close()
  await client.close()
}
