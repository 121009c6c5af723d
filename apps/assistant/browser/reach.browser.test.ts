import axe, { type AxeResults } from 'axe-core'
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { AssistantProcess } from './assistant.fixture.ts'
import { startChromium } from './chromium.fixture.ts'
import { Visitor } from './visitor.fixture.ts'

let browser: Browser
let app: AssistantProcess

beforeAll(async () => {
  ;[browser, app] = await Promise.all([startChromium(), AssistantProcess.start()])
})

afterAll(async () => {
  await browser?.close()
  await app?.[Symbol.asyncDispose]()
})

/** What axe finds wrong: contrast, names, order, whatever scrolls or is pressed without a mouse. */
async function faults({ page }: Visitor): Promise<readonly string[]> {
  await page.evaluate(axe.source)
  const { violations } = (await page.evaluate('axe.run()')) as AxeResults
  return violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ target }) => target.join(' ')).join(', ')}`)
}

const focused = ({ page }: Visitor) =>
  page.evaluate("document.activeElement.getAttribute('aria-label') ?? document.activeElement.textContent")

describe('everybody', () => {
  test.each([
    ['light', 1360],
    ['dark', 1360],
    ['light', 375],
    ['dark', 375],
  ] as const)('can read and reach everything, %s, %i wide', async (colorScheme, width) => {
    await using visitor = await Visitor.at(browser, app.url, { colorScheme, width, height: 700 })
    const { page } = visitor
    await visitor.sees('What would you like to try?')
    expect(await faults(visitor)).toEqual([])
    await visitor.suggest('Where in the code is defineTool?')
    await visitor.sees(/is declared here/)
    await visitor.idle()
    await visitor.suggest('Packing list')
    await visitor.sees(/Tick off what is packed/)
    await visitor.idle()
    await visitor.suggest('Postcard')
    await page.getByRole('form', { name: 'Question' }).waitFor()
    expect(await faults(visitor)).toEqual([])
    await page.getByRole('button', { name: 'Edit' }).click()
    expect(await faults(visitor)).toEqual([])
    await page.getByRole('button', { name: 'Refuse' }).click()
    await visitor.sees('All right, I have not sent it.')
    await visitor.idle()
    await visitor.shot(`refused-${width}-${colorScheme}`)
    if (width < 1_180) await page.getByRole('button', { name: 'Open the panel' }).click()
    for (const name of ['List', 'Timeline', 'Agents', 'Events', 'Allowed']) {
      await page.getByRole('tab', { name }).click()
      expect([name, await faults(visitor)]).toEqual([name, []])
    }
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(width)
    expect(visitor.complaints).toEqual([])
  })
})

describe('without a mouse', () => {
  test('the focus is never lost', async () => {
    await using visitor = await Visitor.at(browser, app.url)
    const { page } = visitor
    await visitor.sees('What would you like to try?')
    expect(await focused(visitor)).toBe('Message')
    await page.getByLabel('Suggestions').getByRole('button', { name: 'Send Ada a postcard' }).focus()
    await page.keyboard.press('Enter')
    await page.getByRole('form', { name: 'Question' }).waitFor()
    expect(await focused(visitor)).toBe('Message')
    for (const name of ['Always for this tool', 'Always in this chat', 'Refuse', 'Edit']) {
      await page.keyboard.press('Shift+Tab')
      expect(await focused(visitor)).toBe(name)
    }
    await page.keyboard.press('Enter')
    await page.getByLabel('to', { exact: true }).waitFor()
    await page.keyboard.press('Control+A')
    await page.keyboard.type('Grace')
    await page.getByRole('button', { name: 'Allow with changes' }).focus()
    await page.keyboard.press('Enter')
    await visitor.sees('The postcard to Grace is in the post.')
    expect(await focused(visitor)).toBe('Message')
    expect(visitor.complaints).toEqual([])
  })

  test('Enter sends, with Shift it makes a new line', async () => {
    await using visitor = await Visitor.at(browser, app.url)
    await visitor.sees('What would you like to try?')
    await visitor.page.keyboard.type('Hello')
    await visitor.page.keyboard.press('Shift+Enter')
    await visitor.page.keyboard.type('there')
    expect(await visitor.page.getByLabel('Message').inputValue()).toBe('Hello\nthere')
    await visitor.page.keyboard.press('Enter')
    await visitor.sees(/I am a small demo model/)
    expect(await visitor.log()).toContain('Hello\nthere')
    expect(await visitor.page.title()).toContain('Hello')
    expect(visitor.complaints).toEqual([])
  })

  test('a drawer takes the focus, keeps it and gives it back', async () => {
    await using visitor = await Visitor.at(browser, app.url, { width: 390, height: 844 })
    const { page } = visitor
    await visitor.sees('What would you like to try?')
    for (const [button, first] of [
      ['Open the panel', 'List'],
      ['Conversations', ' New conversation'],
    ] as const) {
      await page.getByRole('button', { name: button }).focus()
      await page.keyboard.press('Enter')
      await expect.poll(() => focused(visitor)).toBe(first)
      for (let i = 0; i < 12; i++) {
        await page.keyboard.press('Tab')
        expect(await page.evaluate("document.activeElement.closest('.chat, .top-bar')")).toBeNull()
      }
      await page.keyboard.press('Escape')
      await expect.poll(() => focused(visitor)).toBe(button)
    }
    await page.getByRole('button', { name: 'Open the panel' }).click()
    await page.setViewportSize({ width: 1360, height: 844 })
    await page.getByLabel('Message').click()
    expect(await focused(visitor)).toBe('Message')
    expect(visitor.complaints).toEqual([])
  })
})
