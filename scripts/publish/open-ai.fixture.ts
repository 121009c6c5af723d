import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'

/** A server with the Responses API of OpenAI. */
export interface OpenAi extends AsyncDisposable {
  readonly url: string
  /** The models of the accepted requests. */
  readonly models: readonly string[]
}

/** Starts the server on loopback; it gives the same answer to every request with the key. */
export async function startOpenAi(key: string, answer: string): Promise<OpenAi> {
  const models: string[] = []
  const server = createServer(async (request, response) => {
    const { model } = JSON.parse(await text(request))
    if (request.headers.authorization !== `Bearer ${key}`) {
      const error = { message: 'Incorrect API key provided.', type: 'invalid_request_error', code: 'invalid_api_key' }
      response.writeHead(401, { 'content-type': 'application/json' }).end(JSON.stringify({ error }))
      return
    }
    models.push(model)
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    for (const event of eventsOf(model, answer)) {
      response.write(`event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`)
    }
    response.end()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    models,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

function eventsOf(model: string, answer: string): readonly { readonly type: string }[] {
  const about = { id: 'resp_1', object: 'response', created_at: 1, model }
  const place = { item_id: 'msg_1', output_index: 0, content_index: 0 }
  const part = { type: 'output_text', text: answer, annotations: [] }
  const item = { id: 'msg_1', type: 'message', role: 'assistant' }
  const usage = { input_tokens: 9, output_tokens: 4, total_tokens: 13 }
  const done = { ...item, status: 'completed', content: [part] }
  return [
    { type: 'response.created', response: { ...about, status: 'in_progress', output: [] } },
    { type: 'response.output_item.added', output_index: 0, item: { ...item, status: 'in_progress', content: [] } },
    { type: 'response.content_part.added', ...place, part: { ...part, text: '' } },
    { type: 'response.output_text.delta', ...place, delta: answer },
    { type: 'response.output_text.done', ...place, text: answer },
    { type: 'response.content_part.done', ...place, part },
    { type: 'response.output_item.done', output_index: 0, item: done },
    { type: 'response.completed', response: { ...about, status: 'completed', output: [done], usage } },
  ].map((event, sequence_number) => ({ ...event, sequence_number }))
}
