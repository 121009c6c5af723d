import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createAnthropic } from '@ai-sdk/anthropic'
import { createGoogle } from '@ai-sdk/google'
import { createOpenAI } from '@ai-sdk/openai'
import type { LanguageModelV4 } from '@ai-sdk/provider'

/** A real provider that talks to a server on this machine. */
export type MakeProvider = (url: string, apiKey?: string, fetch?: typeof globalThis.fetch) => LanguageModelV4

const openai = (url: string, apiKey: string, fetch = globalThis.fetch) =>
  createOpenAI({ apiKey, baseURL: `${url}/v1`, fetch })

export const openaiChat: MakeProvider = (url, key = 'right-key', fetch) => openai(url, key, fetch).chat('gpt-4o')
export const openaiResponses: MakeProvider = (url, key = 'right-key', fetch) =>
  openai(url, key, fetch).responses('gpt-5')
export const anthropic: MakeProvider = (url, apiKey = 'right-key', fetch = globalThis.fetch) =>
  createAnthropic({ apiKey, baseURL: `${url}/v1`, fetch })('claude-sonnet-4-5')
export const google: MakeProvider = (url, apiKey = 'right-key', fetch = globalThis.fetch) =>
  createGoogle({ apiKey, baseURL: `${url}/v1beta`, fetch })('gemini-3-pro-preview')

/** A server on this machine, gone at the end of the scope that it was made in. */
export interface LocalServer extends AsyncDisposable {
  readonly url: string
  /** The bodies it was sent. */
  readonly bodies: unknown[]
  /** Settles when the other side has hung up on a request. */
  readonly hungUp: Promise<void>
}

export async function serve(
  answer: (response: ServerResponse, request: IncomingMessage, body: unknown) => void,
): Promise<LocalServer> {
  const bodies: unknown[] = []
  const hungUp = Promise.withResolvers<void>()
  const server = createServer(async (request, response) => {
    response.on('close', () => hungUp.resolve())
    let body = ''
    for await (const chunk of request) body += chunk
    bodies.push(JSON.parse(body))
    answer(response, request, bodies.at(-1))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    bodies,
    hungUp: hungUp.promise,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

/** The beginning of a stream of server-sent events. */
export function events(response: ServerResponse, ...data: readonly object[]): ServerResponse {
  if (!response.headersSent) response.writeHead(200, { 'content-type': 'text/event-stream' })
  for (const event of data) {
    const type = 'type' in event ? `event: ${event.type}\n` : ''
    response.write(`${type}data: ${JSON.stringify(event)}\n\n`)
  }
  return response
}

export function refuse(
  response: ServerResponse,
  status: number,
  body: object,
  headers: Record<string, string> = {},
): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body))
}
