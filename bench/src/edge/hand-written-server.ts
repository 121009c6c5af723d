import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { ChatModel } from '@troupe/kernel'
import { ASKED } from '../word-model.ts'

/** What one would write without a framework: each delta goes to the socket as it comes, and is kept nowhere. */
export async function byHandServer(model: ChatModel): Promise<{ readonly url: string; close(): Promise<void> }> {
  const { signal } = new AbortController()
  const server = createServer(async (request, response) => {
    let body = ''
    for await (const chunk of request) body += chunk
    const { threadId, runId } = JSON.parse(body)
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    let seq = 0
    const send = async (event: object) => {
      const room = response.write(`id: ${runId}:${++seq}\ndata: ${JSON.stringify(event)}\n\n`)
      if (!room) await once(response, 'drain')
    }
    const messageId = `${runId}-1`
    await send({ type: 'RUN_STARTED', threadId, runId })
    await send({ type: 'TEXT_MESSAGE_START', messageId, role: 'assistant' })
    for await (const part of model.stream(ASKED, { signal })) {
      if (part.type === 'text-delta') await send({ type: 'TEXT_MESSAGE_CONTENT', messageId, delta: part.delta })
    }
    await send({ type: 'TEXT_MESSAGE_END', messageId })
    await send({ type: 'RUN_FINISHED', threadId, runId })
    response.end()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async close() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}
