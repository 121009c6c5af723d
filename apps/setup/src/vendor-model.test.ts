import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { inspect } from 'node:util'
import { afterAll, afterEach, beforeAll, expect, it, vi } from 'vitest'
import { readVendor } from './vendor.ts'
import { vendorModel } from './vendor-model.ts'

let server: Server
let status: number
let said = 'no'

beforeAll(async () => {
  server = createServer((_, response) => {
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify({ error: { message: said } }))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
})
afterEach(() => {
  vi.unstubAllEnvs()
  said = 'no'
})
afterAll(() => server.close())

/** Asks a vendor whose place the server takes. */
async function ask(env: Record<string, string>): Promise<void> {
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`
  const all = { OPENAI_BASE_URL: url, ANTHROPIC_BASE_URL: url, OLLAMA_BASE_URL: url, ...env }
  for (const [name, value] of Object.entries(all)) vi.stubEnv(name, value)
  const choice = readVendor(all)
  if (!choice) throw new Error('no vendor')
  const request = {
    instruction: '',
    messages: [{ id: 'u1', role: 'user', content: 'Hi' }],
    tools: [],
    options: {},
    step: 'model:0',
    idempotencyKey: 'k',
  } as const
  const { signal } = new AbortController()
  for await (const _ of vendorModel(choice).stream(request, { signal }));
}

it.each([
  [{ TROUPE_MODEL: 'openai:gpt-5', OPENAI_API_KEY: 'wrong' }, 'OPENAI_API_KEY'],
  [{ TROUPE_MODEL: 'anthropic:claude-sonnet-4-5', ANTHROPIC_API_KEY: 'wrong' }, 'ANTHROPIC_API_KEY'],
  [{ TROUPE_MODEL: 'ollama:llama3.2' }, 'OLLAMA_BASE_URL'],
])('%o: an error about a refused key names where the key comes from', async (env, variable) => {
  status = 401
  await expect(ask(env as unknown as Record<string, string>)).rejects.toMatchObject({
    code: 'MODEL_AUTH_FAILED',
    message: expect.stringMatching(
      new RegExp(`the vendor refuses the key or the account, got 401; check ${variable}$`),
    ),
    details: { status: 401 },
    retryable: false,
  })
})

it('leaves other errors as they are', async () => {
  status = 503
  await expect(ask({ TROUPE_MODEL: 'ollama:llama3.2' })).rejects.toMatchObject({
    code: 'MODEL_OVERLOADED',
    message: expect.not.stringContaining('OLLAMA_BASE_URL'),
    retryable: true,
  })
})

it('shows no key that the vendor repeats', async () => {
  for (status of [400, 401, 429, 500]) {
    said =
      'Incorrect API key provided: hush-hush-7 (or sk-proj-abc*****wxyz), sent as Bearer hush-hush-7 to /v1?key=hush-hush-7'
    const error = await ask({ TROUPE_MODEL: 'openai:gpt-5', OPENAI_API_KEY: 'hush-hush-7' }).catch((thrown) => thrown)
    expect([status, inspect(error, { depth: 9 })]).not.toEqual([status, expect.stringMatching(/hush-hush|sk-proj-abc/)])
    expect(error).toMatchObject({ code: expect.stringMatching(/^MODEL_/) })
  }
})
