import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ResumableHttpAgent } from '@troupe/ag-ui/client'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Assistant, startAssistant } from './assistant.ts'
import { readConfig } from './config.ts'
import { createApp } from './container.ts'
import type { History } from './server/history.ts'
import type { TokensByMessage } from './server/tokens.ts'

let folder: string
let assistant: Assistant

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'troupe-assistant-'))
  await writeFile(join(folder, 'index.html'), '<p>page</p>')
  await writeFile(join(folder, 'secret.env'), 'KEY=1')
  assistant = await start()
})

afterAll(async () => {
  await assistant?.stop(0)
  await rm(folder, { recursive: true, force: true })
})

async function start(): Promise<Assistant> {
  const env = { TROUPE_DB: join(folder, 'chat.db'), TROUPE_FOLDER: folder, TROUPE_WORD_DELAY_MS: '0' }
  return startAssistant(await createApp(readConfig(env), folder))
}

const get = (path: string, init?: RequestInit) => fetch(assistant.url + path, init)
const json = async <T = unknown>(path: string) => (await get(path)).json() as Promise<T>

async function talk(threadId: string, text: string, n = 1): Promise<ResumableHttpAgent> {
  const agent = new ResumableHttpAgent({ url: `${assistant.url}/agent`, threadId })
  agent.addMessage({ id: `${threadId}-${n}`, role: 'user', content: text })
  await agent.runAgent()
  return agent
}

describe('the server', () => {
  test('gives the page, and nothing beside it', async () => {
    const page = await get('/')
    expect(await page.text()).toBe('<p>page</p>')
    expect(page.headers.get('content-security-policy')).toContain("default-src 'self'")
    for (const path of [
      '/none.js',
      '/secret.env',
      '/%2e%2e/package.json',
      '/..%2fpackage.json',
      '/api/none',
      '/api/threads/t',
    ]) {
      expect([path, (await get(path)).status]).toEqual([path, 404])
    }
    expect((await get('/', { method: 'POST' })).status).toBe(405)
  })

  test('answers neither other sites nor other names', async () => {
    for (const site of ['cross-site', 'same-site']) {
      const headers = { 'sec-fetch-site': site }
      expect((await get('/api/grants', { headers })).status).toBe(403)
      expect((await get('/agent/threads/t/runs/r/cancel', { headers, method: 'POST' })).status).toBe(403)
      expect((await get('/', { headers })).status).toBe(200)
    }
    const status = await new Promise((resolve) => {
      request(assistant.url, { headers: { host: 'evil.example' } }, (response) => {
        response.resume()
        resolve(response.statusCode)
      }).end()
    })
    expect(status).toBe(403)
  })

  test('refuses other origins by Origin too, cancel included, and takes its own', async () => {
    for (const origin of ['https://evil.example', 'null', 'http://127.0.0.1:1', 'nonsense']) {
      const headers = { origin }
      expect([origin, (await get('/api/grants', { headers })).status]).toEqual([origin, 403])
      expect((await get('/agent/threads/t/runs/r/cancel', { headers, method: 'POST' })).status).toBe(403)
      expect((await get('/agent', { headers, method: 'POST', body: '{}' })).status).toBe(403)
    }
    expect((await get('/api/grants', { headers: { origin: assistant.url } })).status).toBe(200)
  })

  test('answers a malformed path with 400, and one with more parts with 404', async () => {
    for (const path of [
      '/api/threads/%E0%A4%A/history',
      '/api/threads/%00/history',
      '/api/threads//tokens',
      `/api/threads/${'x'.repeat(257)}/history`,
      '/%E0%A4%A',
      '/%00.js',
      '/agent/threads/%E0%A4%A',
    ]) {
      expect([path, (await get(path)).status]).toEqual([path, 400])
    }
    expect((await get('/api/threads/t/history/more')).status).toBe(404)
  })

  test('takes a state of the page that is bounded and valid, and no other', async () => {
    await talk('bounds', 'Pack for rain')
    const put = async (body: string) => (await get('/api/threads/bounds/state', { method: 'PUT', body })).status
    const thing = { id: '1', text: 'Violin', packed: true, by: 'you' }
    for (const state of [
      [],
      null,
      'x',
      1,
      { other: 1 },
      { __proto__: null, packing: {} },
      { packing: [1] },
      { packing: [{ ...thing, text: 7 }] },
      { packing: [{ ...thing, more: 1 }] },
      { packing: [{ ...thing, text: 'x'.repeat(1001) }] },
      { packing: Array(501).fill(thing) },
    ]) {
      expect([state, await put(JSON.stringify(state))]).toEqual([state, 400])
    }
    expect(await put(JSON.stringify({ packing: 'x'.repeat(200_000) }))).toBe(413)
    expect(await put(JSON.stringify({ packing: [thing] }))).toBe(200)
  })

  test('says who is there', async () => {
    const named = (name: string) => expect.objectContaining({ name })
    expect(await json('/api/about')).toMatchObject({
      model: 'demo',
      demo: true,
      store: 'sqlite',
      tree: { name: 'RouterAgent', subAgents: expect.arrayContaining(['ChatAgent', 'WeatherAgent'].map(named)) },
      tools: [{ name: 'codebase_investigator' }],
    })
  })

  test('serves the agents, and remembers: every event with its time, tokens by message', async () => {
    const agent = await talk('lisbon', 'What’s the weather in Lisbon?')
    expect(agent.messages.at(-1)?.content).toContain('in Lisbon')
    const { runs } = await json<History>('/api/threads/lisbon/history')
    expect(runs).toMatchObject([{ userMessages: [{ id: 'lisbon-1' }], messages: [] }])
    const events = runs[0]?.events ?? []
    expect(events[0]?.type).toBe('RUN_STARTED')
    expect(events.at(-1)?.type).toBe('RUN_FINISHED')
    expect(events.every(({ timestamp }) => typeof timestamp === 'number')).toBe(true)
    const tokens = await json<TokensByMessage>('/api/threads/lisbon/tokens')
    expect(Object.values(tokens).every(({ input }) => input > 0)).toBe(true)
    expect(Object.keys(tokens)).toHaveLength(3)
  })

  test('keeps the shared list between runs', async () => {
    await talk('bergen', 'Pack for rain')
    const packing = [{ id: '1', text: 'Violin', packed: true, by: 'you' }]
    const init = { method: 'PUT', body: JSON.stringify({ packing }) }
    expect((await get('/api/threads/bergen/state', init)).status).toBe(200)
    expect(await json('/agent/threads/bergen')).toMatchObject({ state: { packing } })
    expect((await get('/api/threads/bergen/state', { method: 'PUT', body: 'no' })).status).toBe(400)
    expect((await get('/api/threads/unknown/state', init)).status).toBe(404)
  })

  test('goes on after a restart: the question is still there, and is answered once', async () => {
    const asking = await talk('ada', 'Send Ada a postcard from Lisbon')
    expect(asking.pendingInterrupts).toMatchObject([{ reason: 'tool_call' }])
    await assistant.stop()
    assistant = await start()
    const agent = new ResumableHttpAgent({ url: `${assistant.url}/agent`, threadId: 'ada' })
    await agent.connectAgent()
    const [question] = agent.pendingInterrupts
    await agent.runAgent({
      resume: [{ interruptId: question?.id ?? '', status: 'resolved', payload: { approved: true } }],
    })
    expect(agent.state).toMatchObject({ postcards: [{ to: 'Ada', place: 'Lisbon' }] })
    const { runs } = await json<History>('/api/threads/ada/history')
    expect(runs).toHaveLength(2)
  })

  test('books a ferry over MCP: the question of the server is answered, also after a restart', async () => {
    const asking = await talk('ferry', 'Book a ferry to Skarholm for two')
    expect(asking.pendingInterrupts).toMatchObject([{ reason: 'input_required', message: 'Which ferry to Skarholm?' }])
    expect(JSON.stringify(asking.messages)).toContain('search_tools')
    await assistant.stop()
    assistant = await start()
    const agent = new ResumableHttpAgent({ url: `${assistant.url}/agent`, threadId: 'ferry' })
    await agent.connectAgent()
    const [question] = agent.pendingInterrupts
    await agent.runAgent({
      resume: [{ interruptId: question?.id ?? '', status: 'resolved', payload: { answer: '13:40' } }],
    })
    expect(agent.messages.at(-1)?.content).toBe('Booked: 2 on the ferry to Skarholm at 13:40.')
    expect((await talk('ferry-times', 'Which ferries go to Vitsund?')).messages.at(-1)?.content).toContain('09:30')
  })

  test('sends without a question what was always allowed, also after a restart, until it is revoked', async () => {
    const asks = async (threadId: string, text: string) => (await talk(threadId, text, 2)).pendingInterrupts.length > 0
    const allow = async (threadId: string, always: string) => {
      const agent = await talk(threadId, 'Send Ada a postcard from Lisbon')
      const [question] = agent.pendingInterrupts
      expect(question?.responseSchema).toMatchObject({ properties: { always: { enum: ['thread', 'tool'] } } })
      const payload = { approved: true, always }
      await agent.runAgent({ resume: [{ interruptId: question?.id ?? '', status: 'resolved', payload }] })
      expect(agent.state).toMatchObject({ postcards: [{ to: 'Ada' }] })
    }
    const revoke = async (id: string) => (await get(`/api/grants/${id}`, { method: 'DELETE' })).status
    await allow('always-here', 'thread')
    await assistant.stop()
    assistant = await start()
    expect(await asks('always-here', 'Send Grace a postcard from Oslo')).toBe(false)
    expect(await asks('elsewhere', 'Send Grace a postcard from Oslo')).toBe(true)
    await allow('always-tool', 'tool')
    expect(await asks('third', 'Send Grace a postcard from Oslo')).toBe(false)
    const grants = await json<{ id: string }[]>('/api/grants')
    expect(grants).toMatchObject([{ tool: 'send_postcard', threadId: 'always-here' }, { tool: 'send_postcard' }])
    for (const { id } of grants) expect([await revoke(id), await revoke(id)]).toEqual([204, 404])
    expect(await json('/api/grants')).toEqual([])
    expect(await asks('fourth', 'Send Grace a postcard from Oslo')).toBe(true)
  })
})
