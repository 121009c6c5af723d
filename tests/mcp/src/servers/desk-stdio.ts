/** The desk over stdio: `node desk-stdio.ts <stateful|both> [file]`. */
import { StdioServerTransport, serveStdio } from '@modelcontextprotocol/server/stdio'
import { deskServer } from './desk.ts'

const [, , generation, file] = process.argv
if (generation === 'stateful') await deskServer(file).connect(new StdioServerTransport())
else serveStdio(() => deskServer(file))
