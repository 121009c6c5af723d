import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { ChatModel } from '@troupe/kernel'
import { EMPTY_REQUEST } from '../word-model.ts'

/** The server that one would write without a framework: it writes each delta to the socket and stores nothing. */
export async function handWrittenServer(model: ChatModel): Promise<{ readonly url: string; close(): Promise<void> }> {
  const { signal } = new AbortController()
  const server = createServer(async (request, response) => {
    let body = ''
    for await (const chunk of request) body += chunk
    const { threadId, runId } = JSON.parse(body)
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    let seq = 0
    const send = async (event: object) => {
      const hasRoom = response.write(`id: ${runId}:${++seq}\ndata: ${JSON.stringify(event)}\n\n`)
      if (!hasRoom) await once(response, 'drain')
    }
    const messageId = `${runId}-1`
    await send({ type: 'RUN_STARTED', threadId, runId })
    await send({ type: 'TEXT_MESSAGE_START', messageId, role: 'assistant' })
    for await (const part of model.stream(EMPTY_REQUEST, { signal })) {
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
