import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { AssistantProcess } from './assistant.fixture.ts'
import { startChromium } from './chromium.fixture.ts'
import { Visitor } from './visitor.fixture.ts'

const bodies: string[] = []
/** A collector that keeps the traces that it gets. */
const server = createServer(async (request, response) => {
  let body = ''
  for await (const chunk of request) body += chunk
  if (request.url === '/v1/traces') bodies.push(body)
  response.setHeader('content-type', 'application/json').end('{}')
})
let browser: Browser
let collector: string

beforeAll(async () => {
  browser = await startChromium()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  collector = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
})

afterAll(async () => {
  await browser?.close()
  server.closeAllConnections()
  await new Promise((resolve) => server.close(resolve))
})

test('the timeline links each run to its trace, also after a reload', async () => {
  const traceUrl = 'http://traces.example/trace/{traceId}?page=1'
  await using app = await AssistantProcess.start({ collector, traceUrl })
  await using visitor = await Visitor.at(browser, app.url)
  const { page } = visitor
  await page.getByRole('tab', { name: 'Timeline' }).click()
  await visitor.say('What’s the weather in Oslo?')
  await visitor.sees(/It is .* in Oslo/)
  await visitor.idle()
  const link = page.getByRole('region', { name: 'Run 1' }).getByRole('link')
  const href = (await link.getAttribute('href')) ?? ''
  const [, traceId] = /^http:\/\/traces\.example\/trace\/([\da-f]{32})\?page=1$/.exec(href) ?? []
  expect(await link.textContent()).toBe(`Trace ${traceId}`)
  await visitor.shot('timeline-trace')
  await page.reload()
  await page.getByRole('tab', { name: 'Timeline' }).click()
  expect(await link.getAttribute('href')).toBe(href)
  expect(visitor.complaints).toEqual([])
  await app.end('SIGTERM')
  expect(bodies.some((body) => body.includes(`"traceId":"${traceId}"`))).toBe(true)
})

test('without an address of traces the timeline shows the id, to be copied', async () => {
  await using app = await AssistantProcess.start({ collector })
  await using visitor = await Visitor.at(browser, app.url)
  const { page } = visitor
  await page.getByRole('tab', { name: 'Timeline' }).click()
  await visitor.say('What’s the weather in Oslo?')
  await visitor.sees(/It is .* in Oslo/)
  await visitor.idle()
  const id = page.getByRole('region', { name: 'Run 1' }).locator('code')
  expect(await id.textContent()).toMatch(/^[\da-f]{32}$/)
  await id.click()
  expect(await page.evaluate('getSelection().toString().trim()')).toBe(await id.textContent())
  expect(visitor.complaints).toEqual([])
})
