import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ResumableHttpAgent } from '@troupe/ag-ui/client'
import type { ChatModel } from '@troupe/kernel'
import { memoryStore } from '@troupe/kernel/memory-store'
import { scriptedModel } from '@troupe/testkit'
import { asValue } from 'awilix'
import { expect, test } from 'vitest'
import { createApp } from './container.ts'
import { demoModel } from './demo-model.ts'
import { buildPage } from './page.ts'
import { type ChatServer, startServer } from './server.ts'

/** The whole app with another model, on any free port. */
function start(model: ChatModel, page?: string): Promise<ChatServer> {
  const app = createApp().register({ model: asValue(model), store: asValue(memoryStore()) })
  return startServer(app, { port: 0, ...(page !== undefined && { page }) })
}

/** The client of a page. */
function talkTo({ url }: ChatServer): ResumableHttpAgent {
  return new ResumableHttpAgent({ url: `${url}/agent`, threadId: 'books' })
}

async function say(client: ResumableHttpAgent, content: string): Promise<void> {
  client.addMessage({ id: crypto.randomUUID(), role: 'user', content })
  await client.runAgent()
}

const order = { toolCalls: [{ name: 'order_book', arguments: { title: 'Small Boats', copies: 2 } }] }

test.each([
  [true, 'Ordered: 2 × Small Boats.', [{ title: 'Small Boats', copies: 2 }]],
  [false, 'The user refused this call.', undefined],
])('a book is ordered only if the user agrees: %s', async (approved, result, orders) => {
  await using server = await start(scriptedModel([order, 'That is all.']))
  const client = talkTo(server)
  await say(client, 'Order Small Boats twice')
  expect(client.state.orders).toBeUndefined()
  const [question] = client.pendingInterrupts
  const payload = { approved }
  await client.runAgent({ resume: [{ interruptId: question?.id ?? '', status: 'resolved', payload }] })
  expect(client.messages.find(({ role }) => role === 'tool')?.content).toBe(result)
  expect(client.state.orders).toEqual(orders)
})

test('the demo model finds books', async () => {
  await using server = await start(demoModel())
  const client = talkTo(server)
  await say(client, 'Books about cooking')
  expect(client.messages.at(-1)?.content).toContain('**Bread at Home**, 22 €')
})

test('the page is built and served, and nothing else', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'chat-page-'))
  try {
    await using server = await start(demoModel(), await buildPage(folder))
    const page = await fetch(server.url)
    const [, script] = /src="(\/assets\/[^"]+\.js)"/.exec(await page.text()) ?? []
    expect((await fetch(`${server.url}${script}`)).status).toBe(200)
    expect((await fetch(`${server.url}/..%2Fpackage.json`)).status).toBe(404)
    expect((await fetch(`${server.url}/nothing.js`)).status).toBe(404)
  } finally {
    await rm(folder, { recursive: true })
  }
})
