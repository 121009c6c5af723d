import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { textIn } from '@troupe-examples/worker/events'
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startChromium } from '../../../../apps/assistant/browser/chromium.fixture.ts'
import { bundle } from './bundle.fixture.ts'

let browser: Browser
let server: Server
let url = ''

beforeAll(async () => {
  const [ask, worker] = await Promise.all([
    bundle('@troupe-examples/worker/ask'),
    bundle('@troupe-examples/worker/web-worker'),
  ])
  server = await serve({
    '/ask.js': ask.code,
    '/web-worker.js': worker.code,
    '/code-of-text.js': `export const one = new Function('return 1')()`,
  })
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
  browser = await startChromium()
})

afterAll(async () => {
  await browser?.close()
  server?.closeAllConnections()
  server?.close()
})

/** Serves a page whose content security policy allows these scripts only, and no code from text. */
async function serve(scripts: Readonly<Record<string, string>>): Promise<Server> {
  const listening = createServer(({ url = '' }, response) => {
    const script = scripts[url]
    response.setHeader(
      'content-security-policy',
      "default-src 'none'; script-src 'self'; worker-src 'self'; img-src data:",
    )
    response.setHeader('content-type', script ? 'text/javascript' : 'text/html')
    response.end(script ?? '<!doctype html><title>Agent</title><link rel="icon" href="data:,">')
  }).listen(0, '127.0.0.1')
  await once(listening, 'listening')
  return listening
}

test('the page does not run text as code', async () => {
  const page = await browser.newPage()
  await page.goto(url)
  await expect(page.evaluate(`import('/code-of-text.js')`)).rejects.toThrow(/EvalError/)
  await page.close()
})

const CALLS = {
  'a page': `import('/ask.js').then(({ ask }) => ask('What is 6 times 7?'))`,
  'a web worker': `new Promise((resolve, reject) => {
    const worker = new Worker('/web-worker.js', { type: 'module' })
    worker.onmessage = ({ data }) => resolve(data)
    worker.onerror = ({ message }) => reject(new Error(message))
    worker.postMessage('What is 6 times 7?')
  })`,
}

test.each(Object.entries(CALLS))('%s runs a turn with a transfer, a sub-agent and a tool', async (_, call) => {
  const page = await browser.newPage()
  const complaints: string[] = []
  page.on('console', (message) => void complaints.push(message.text()))
  page.on('pageerror', (error) => void complaints.push(error.message))
  await page.goto(url)
  const events: Parameters<typeof textIn>[0] = await page.evaluate(call)
  expect(textIn(events)).toBe('6 times 7 is 42.')
  const calls = events.flatMap(({ toolCallName }) => toolCallName ?? [])
  expect(calls).toEqual(['transfer_to_agent', 'mathematician', 'multiply', 'complete_task'])
  expect([events[0]?.type, events.at(-1)?.type]).toEqual(['RUN_STARTED', 'RUN_FINISHED'])
  expect(complaints).toEqual([])
  await page.close()
})
