/** Our server over stdio: `node own-stdio.ts <stateful|2026-07-28> <notes>`. */
import { appendFileSync } from 'node:fs'
import { StdioServerTransport } from '@modelcontextprotocol/server/stdio'
import { serveStdio } from '@troupe/mcp/server/node'
import { ownServer } from './own-server.ts'

const [, , generation, notes = ''] = process.argv
const handler = ownServer((line) => appendFileSync(notes, `${line}\n`))
if (generation === 'stateful') await handler.serverFor().connect(new StdioServerTransport())
else await serveStdio(handler).closed
