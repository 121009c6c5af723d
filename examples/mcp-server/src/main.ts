import { fileURLToPath } from 'node:url'
import { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'

const server = fileURLToPath(new URL('server.ts', import.meta.url))
const client = new Client({ name: 'passenger', version: '1.0.0' }, { capabilities: { elicitation: { form: {} } } })
client.setRequestHandler('elicitation/create', ({ params }) => {
  console.log('question:', params.message)
  return { action: 'accept', content: { answer: '08:15' } }
})
await client.connect(new StdioClientTransport({ command: process.execPath, args: ['--no-warnings', server] }))

const { tools } = await client.listTools()
console.log('tools:', tools.map(({ name }) => name).join(', '))
const { structuredContent } = await client.callTool(
  { name: 'book_ferry', arguments: { to: 'Skarholm', people: 2 } },
  { onprogress: ({ message }) => console.log('progress:', message) },
)
console.log('result:', structuredContent)
await client.close()
