import type { Server } from 'node:http'
import axe, { type AxeResults } from 'axe-core'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startChromium } from '../../../../apps/assistant/browser/chromium.fixture.ts'
import { addressOf, buildSite, serveSite } from './built-site.fixture.ts'

let browser: Browser
let server: Server
let url = ''

beforeAll(async () => {
  await buildSite()
  server = await serveSite()
  url = addressOf(server)
  browser = await startChromium()
})

afterAll(async () => {
  await browser?.close()
  server?.closeAllConnections()
  server?.close()
})

/** A page of the site with what is wrong while it is open: requests to other hosts, errors in the console. */
async function open(path: string, colorScheme: 'light' | 'dark' = 'light', width = 1360) {
  const viewport = { width, height: 800 }
  const context = await browser.newContext({ viewport, colorScheme, reducedMotion: 'reduce' })
  const complaints: string[] = []
  context.on('request', (request) => {
    if (!request.url().startsWith(`${url}/`) && !request.url().startsWith('data:')) complaints.push(request.url())
  })
  context.on('weberror', (error) => complaints.push(error.error().message))
  context.on('console', (message) => {
    if (message.type() === 'error') complaints.push(message.text())
  })
  const page = await context.newPage()
  await page.goto(`${url}${path}`, { waitUntil: 'networkidle' })
  return { page, complaints, [Symbol.asyncDispose]: () => context.close() }
}

/** What axe finds wrong. */
async function faults(page: Page): Promise<readonly string[]> {
  await page.evaluate(axe.source)
  const { violations } = (await page.evaluate('axe.run()')) as AxeResults
  return violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ target }) => target.join(' ')).join(', ')}`)
}

const PAGES = ['/', '/zh/', '/docs/tools.html', '/api/flow/runner.html', '/bench/peers.html']

describe.each([
  ['light', 1360],
  ['dark', 1360],
  ['light', 375],
] as const)('%s, %i wide', (colorScheme, width) => {
  test.each(PAGES)('%s can be read by everybody, fits the window and asks no other host', async (path) => {
    await using visit = await open(path, colorScheme, width)
    expect(await faults(visit.page)).toEqual([])
    expect(await visit.page.evaluate('document.documentElement.scrollWidth')).toBe(width)
    expect(visit.complaints).toEqual([])
  })
})

describe('the search', () => {
  test.each([
    ['/', 'exactly one end', '/docs/'],
    ['/zh/', '智能体', '/zh/'],
    ['/', 'agentWithOptions', '/api/flow/tree.html#agentwithoptions'],
  ])('on %s finds "%s"', async (path, phrase, target) => {
    await using visit = await open(path)
    await visit.page.keyboard.press('Control+k')
    await visit.page.locator('#localsearch-input').fill(phrase)
    const results = visit.page.locator('.VPLocalSearchBox a.result')
    await results.first().waitFor()
    const links = await Promise.all((await results.all()).map(async (link) => (await link.getAttribute('href')) ?? ''))
    expect(links.some((link) => link.startsWith(target))).toBe(true)
    expect(visit.complaints).toEqual([])
  })
})

test('a link leads to the next page without loading the site again', async () => {
  await using visit = await open('/')
  await visit.page.getByRole('link', { name: 'Get started' }).click()
  await visit.page.getByRole('heading', { level: 1, name: 'Getting started' }).waitFor()
  expect(visit.complaints).toEqual([])
})

test('assistants find a list of the pages, the guides in one file, and each page as Markdown', async () => {
  const get = async (path: string) => (await fetch(`${url}${path}`)).text()
  expect(await get('/llms.txt')).toContain('- [Tools](/docs/tools.md): A tool is a function that a model can call.')
  expect(await get('/llms-full.txt')).toContain('# Getting started')
  expect(await get('/docs/tools.md')).toContain('# Tools')
})
