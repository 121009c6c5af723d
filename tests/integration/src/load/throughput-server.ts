import { rmSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { agUiServer } from '@troupe/ag-ui/node'
import { memoryStore } from '@troupe/kernel/memory-store'
import { sqliteStore } from '@troupe/store-sqlite'
import { loadHandler } from './load-handler.ts'

/** A server in its own process, of the kind in its argument. It sends its address to its parent, and ends with it. */
const [, , kind = 'memory'] = process.argv
process.on('disconnect', () => process.exit(0))
process.on('message', () => {
  const { user, system } = process.cpuUsage()
  process.send?.((user + system) / 1_000)
})

if (kind === 'bare') {
  // Writes the same bytes event by event, as a server without a framework does.
  const server = createServer((request, response) => {
    let body = ''
    request.on('data', (chunk) => {
      body += chunk
    })
    request.on('end', async () => {
      const { runId, threadId, messages } = JSON.parse(body)
      const { deltas, size = 6 } = JSON.parse(messages[0].content)
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      const event = { type: 'TEXT_MESSAGE_CONTENT', messageId: `${runId}/#1`, delta: 'x'.repeat(size) }
      for (let seq = 1; seq <= deltas; seq++) {
        const frame = `id: ${runId}:${seq}\ndata: ${JSON.stringify(event)}\n\n`
        if (!response.write(frame)) await new Promise((resolve) => response.once('drain', resolve))
      }
      response.end(`data: ${JSON.stringify({ type: 'RUN_FINISHED', threadId, runId })}\n\n`)
    })
  })
  server.listen(0, '127.0.0.1', () => {
    process.send?.(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
  })
} else {
  const path = join(tmpdir(), `troupe-load-${process.pid}.db`)
  const store = kind === 'sqlite' ? sqliteStore({ path }) : memoryStore()
  process.on('exit', () => {
    for (const file of [path, `${path}-wal`, `${path}-shm`]) rmSync(file, { force: true })
  })
  process.send?.((await agUiServer(loadHandler(store))).url)
}
