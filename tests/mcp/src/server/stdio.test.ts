import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import type { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { serveStdio } from '@troupe/mcp/server/node'
import { describe, expect, it } from 'vitest'
import { clientOf, GENERATIONS, type Generation, served } from './served.fixture.ts'

const PROGRAM = fileURLToPath(new URL('stdio-server.ts', import.meta.url))

async function connect(generation: Generation) {
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: ['--no-warnings', PROGRAM],
    stderr: 'pipe',
  })
  let stderr = ''
  transport.stderr?.on('data', (chunk) => {
    stderr += chunk
  })
  const client: Client = clientOf(generation)
  await client.connect(transport)
  const { pid } = transport
  return { client, transport, pid, stderr: () => stderr }
}

describe.each(GENERATIONS)('a child over stdio, %s', (generation) => {
  // `own-server` has the calls, questions and progress of a child.
  it('a cancelled call stops, so does one whose client has left, and then the child ends', async () => {
    const { client, transport, stderr } = await connect(generation)
    const leave = new AbortController()
    const said = once(transport.stderr as never, 'data')
    const call = client.callTool({ name: 'wait', arguments: {} }, { signal: leave.signal })
    await client.callTool({ name: 'add', arguments: { a: 1, b: 1 } })
    leave.abort()
    await expect(call).rejects.toThrow()
    await said
    expect(stderr()).toBe('stopped\n')
    const gone = expect(client.callTool({ name: 'wait', arguments: {} })).rejects.toThrow()
    await client.callTool({ name: 'add', arguments: { a: 1, b: 1 } })
    const ended = once(transport.stderr as never, 'close')
    await client.close()
    await gone
    await ended
    expect(stderr()).toBe('stopped\nstopped\nended\n')
  })
})

it('a handler that signs users in cannot be served over stdio', async () => {
  await using app = await served({ agents: [] })
  expect(() => serveStdio(app.handler)).toThrow(expect.objectContaining({ code: 'CONFIG_INVALID' }))
  expect(() => serveStdio((() => undefined) as never)).toThrow(/the handler that mcpServer/)
})
