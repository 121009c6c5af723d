import { mkdirSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import axe, { type AxeResults } from 'axe-core'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { startChromium } from '../../../apps/assistant/browser/chromium.fixture.ts'
import { createApp } from '../../../templates/chat/src/container.ts'
import { buildPage } from '../../../templates/chat/src/page.ts'
import { startServer } from '../../../templates/chat/src/server.ts'

const ARTIFACTS = fileURLToPath(new URL('../artifacts', import.meta.url))
mkdirSync(ARTIFACTS, { recursive: true })

let browser: Browser
let folder: string

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'chat-template-'))
  ;[browser] = await Promise.all([startChromium(), buildPage(join(folder, 'page'))])
})

afterAll(async () => {
  vi.unstubAllEnvs()
  await browser?.close()
  await rm(folder, { recursive: true, force: true })
})

async function faults(page: Page): Promise<readonly string[]> {
  await page.evaluate(axe.source)
  const { violations } = (await page.evaluate('axe.run()')) as AxeResults
  return violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ target }) => target.join(' ')).join(', ')}`)
}

test.each([
  ['light', 1360],
  ['dark', 1360],
  ['light', 390],
] as const)(
  'a book is found, ordered after a question, and the page made dark: %s, %i wide',
  async (colorScheme, width) => {
    vi.stubEnv('DATABASE_FILE', join(folder, `${colorScheme}-${width}.db`))
    await using server = await startServer(createApp(), { port: 0, page: join(folder, 'page') })
    const context = await browser.newContext({ viewport: { width, height: 800 }, colorScheme, reducedMotion: 'reduce' })
    context.setDefaultTimeout(15_000)
    const page = await context.newPage()
    const complaints: string[] = []
    page.on('console', (message) => message.type() === 'error' && complaints.push(message.text()))
    page.on('pageerror', ({ message }) => void complaints.push(message))
    const say = async (text: string) => {
      await page.getByLabel('Message', { exact: true }).fill(text)
      await page.keyboard.press('Enter')
    }
    await page.goto(server.url)
    await page.getByLabel('Suggestions').getByRole('button', { name: 'Books about cooking' }).click()
    await page.getByRole('listitem').filter({ hasText: 'Bread at Home, 22 €' }).waitFor()
    await page.getByRole('button', { name: 'Answer again' }).waitFor()
    await say('Order Small Boats')
    await page.getByRole('button', { name: 'Allow', exact: true }).waitFor()
    expect(await faults(page)).toEqual([])
    await page.screenshot({ path: `${ARTIFACTS}/chat-${width}-${colorScheme}.png` })
    await page.getByRole('button', { name: 'Allow', exact: true }).click()
    await page.getByText('Ordered: 1 × Small Boats.').filter({ visible: true }).first().waitFor()
    await page.getByRole('button', { name: 'Send' }).waitFor()
    await say('Make the page dark')
    await expect.poll(() => page.evaluate('document.documentElement.style.colorScheme')).toBe('dark')
    await page.getByText('The page is dark now.').filter({ visible: true }).first().waitFor()
    if (width < 500) await page.getByRole('button', { name: 'Conversations' }).click()
    await page.getByRole('navigation').getByText('Books about cooking').waitFor()
    expect(await faults(page)).toEqual([])
    await page.screenshot({ path: `${ARTIFACTS}/chat-list-${width}-${colorScheme}.png` })
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(width)
    expect(complaints).toEqual([])
    await context.close()
  },
)
