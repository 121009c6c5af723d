/** A server with a fault: `node bad.ts <fault> [file]`. It speaks the stateful protocol, line by line. */
import { appendFileSync } from 'node:fs'
import { createInterface } from 'node:readline'

const [, , fault = '', file] = process.argv
const TOOL = { name: 'go', description: 'Goes.', inputSchema: { type: 'object' } }

interface Request {
  readonly id?: number
  readonly method: string
  readonly params?: { readonly protocolVersion?: string }
}

function send(id: number | undefined, result: unknown): void {
  process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', id, result })}\n`)
}

function initialize({ id, params }: Request): void {
  if (fault === 'silent') return
  if (fault === 'half-line') {
    process.stdout.write(`{"jsonrpc":"2.0","id":${id},"resu`)
    return
  }
  send(id, {
    protocolVersion: fault === 'wrong-version' ? '1999-01-01' : params?.protocolVersion,
    capabilities: { tools: { listChanged: true } },
    serverInfo: { name: fault, version: fault === 'new-version' ? `${process.pid}` : '1' },
  })
}

let lists = 0
function tools(): readonly object[] {
  lists++
  if (file !== undefined) appendFileSync(file, 'list\n')
  if (fault === 'many-tools') return Array.from({ length: 10_000 }, (_, i) => ({ ...TOOL, name: `go_${i}` }))
  if (fault === 'two-hundred') return Array.from({ length: 200 }, (_, i) => ({ ...TOOL, name: `go_${i}` }))
  if (fault === 'bad-schema')
    return [TOOL, { ...TOOL, name: 'odd', inputSchema: { type: 'object', properties: { a: { type: 'nothing' } } } }]
  if (fault === 'changing') return [{ ...TOOL, description: `Goes, ${lists}.` }]
  if (fault === 'long-text') return [{ ...TOOL, name: `go.${'x'.repeat(200)}`, description: 'y'.repeat(100_000) }]
  return [TOOL]
}

function call({ id }: Request): void {
  if (file !== undefined) appendFileSync(file, 'call\n')
  if (fault === 'never-answers') return
  if (fault === 'closes') process.exit(1)
  if (fault === 'half-answer') {
    process.stdout.write(`{"jsonrpc":"2.0","id":${id},"result":{"content":[`, () => process.exit(0))
    return
  }
  if (fault === 'garbage') process.stdout.write('not json at all\n')
  if (fault === 'odd-result') {
    send(id, { content: 'no list' })
    return
  }
  if (fault === 'rpc-error') {
    process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', id, error: { code: -32000, message: 'no paper' } })}\n`)
    return
  }
  const text = fault === 'huge' ? 'x'.repeat(100_000_000) : 'fine'
  if (fault === 'changing')
    process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', method: 'notifications/tools/list_changed' })}\n`)
  send(id, { content: [{ type: 'text', text }] })
  if (fault === 'new-version') process.exit(0)
}

createInterface({ input: process.stdin }).on('line', (line) => {
  const request = JSON.parse(line) as Request
  if (request.method === 'initialize') initialize(request)
  else if (request.method === 'tools/list') send(request.id, { tools: tools() })
  else if (request.method === 'tools/call') call(request)
  else if (request.id !== undefined && fault !== 'silent') {
    process.stdout.write(
      `${JSON.stringify({ jsonrpc: '2.0', id: request.id, error: { code: -32601, message: 'unknown' } })}\n`,
    )
  }
})
