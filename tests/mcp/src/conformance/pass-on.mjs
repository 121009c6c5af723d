/** Passes a scenario of the suite on to the process at a port, and prints what it says: `node pass-on.mjs <port> <url>`. Plain and short, because it starts fifty times. */
import { connect } from 'node:net'

const [, , port, url] = process.argv
const { MCP_CONFORMANCE_SCENARIO: name, MCP_CONFORMANCE_CONTEXT: context = '{}' } = process.env
const socket = connect(Number(port), '127.0.0.1')
socket.end(`${JSON.stringify({ name, url, context })}\n`)
socket.pipe(process.stdout)
