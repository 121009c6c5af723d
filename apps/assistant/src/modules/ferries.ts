import { fileURLToPath } from 'node:url'
import { mcpTools } from '@troupe/mcp'
import { type Registrations, singleton } from '../app.ts'

const SERVER = fileURLToPath(new URL('../../../../examples/mcp-server/src/server.ts', import.meta.url))

/** The tools of an MCP server that runs as a child process, which is started when an agent needs it first. */
export const ferriesModule: Registrations<'ferries'> = {
  ferries: singleton(({ config: { database } }) => {
    const file = database.type === 'sqlite' && database.path !== ':memory:' ? [`${database.path}.ferries`] : []
    const args = ['--no-warnings', SERVER, ...file]
    // The server is part of this repository.
    return mcpTools({ servers: { ferries: { command: process.execPath, args, trusted: true } } })
  }).disposer((ferries) => ferries[Symbol.asyncDispose]()),
}
