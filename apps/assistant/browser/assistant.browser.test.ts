import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { AssistantProcess } from './assistant.fixture.ts'
import { startChromium } from './chromium.fixture.ts'
import { shown, Visitor, type VisitorOptions } from './visitor.fixture.ts'

let browser: Browser
let app: AssistantProcess
/** A slow app, so that a test can act in the middle of a run. */
let slow: AssistantProcess

beforeAll(async () => {
  ;[browser, app, slow] = await Promise.all([
    startChromium(),
    AssistantProcess.start(),
    AssistantProcess.start({ wordDelayMs: 60 }),
  ])
})

afterAll(async () => {
  await browser?.close()
  await app?.[Symbol.asyncDispose]()
  await slow?.[Symbol.asyncDispose]()
})

const visit = (options?: VisitorOptions) => Visitor.at(browser, app.url, options)

describe('a visitor', () => {
  test('asks the router, and sees it transfer to the agent that knows', async () => {
    await using visitor = await visit()
    await visitor.shot('welcome-light')
    await visitor.suggest('What’s the weather in Lisbon?')
    await visitor.sees(/It is .* in Lisbon/)
    await visitor.idle()
    expect(await visitor.log()).toMatch(
      /You\s+What’s the weather in Lisbon\?\s+RouterAgent transfers to WeatherAgent\s+WeatherAgent\s+Let me look/,
    )
    await visitor.say('Hello there')
    await visitor.sees('RouterAgent transfers to ChatAgent')
    await visitor.sees(/I am a small demo model/)
    await visitor.shot('transfer')
    expect(visitor.complaints).toEqual([])
  })

  test('watches a sub-agent work, inside its call and live', async () => {
    await using visitor = await Visitor.at(browser, slow.url)
    await visitor.suggest('Where in the code is defineTool?')
    const inside = visitor.page.getByLabel('codebase_investigator run')
    await inside.getByText('I search for “function defineTool”').waitFor()
    expect(await inside.getAttribute('data-status')).toBe('running')
    await visitor.page.getByRole('tab', { name: 'Agents' }).click()
    await visitor.sees('called as a tool, running')
    await visitor.shot('sub-agent-live')
    await inside.getByText('read_file').waitFor()
    await visitor.idle()
    expect(await inside.getAttribute('data-status')).toBe('done')
    expect(await visitor.log()).toMatch(/is declared here:\s+src\/agent\/define-tool\.ts:\d+/)
    expect(visitor.complaints).toEqual([])
  })

  test('lets the agent use a tool of the page', async () => {
    await using visitor = await visit()
    await visitor.suggest('Make the page dark')
    await visitor.page.locator('html[data-theme=dark]').waitFor()
    await visitor.sees('The page is dark now.')
    await visitor.idle()
    await visitor.shot('client-tool-dark')
    await visitor.page.reload()
    await visitor.sees('The page is dark now.')
    expect(await visitor.page.locator('html').getAttribute('data-theme')).toBe('dark')
    await visitor.page.getByRole('button', { name: 'Light page' }).click()
    await visitor.page.locator('html[data-theme=light]').waitFor()
    expect(visitor.complaints).toEqual([])
  })

  test('edits the shared list together with the agent', async () => {
    await using visitor = await visit()
    const { page } = visitor
    await page.getByLabel('Add to the list').fill('Violin')
    await page.keyboard.press('Enter')
    await visitor.suggest('Pack for three rainy days in Bergen')
    await page.getByLabel('Rain jacket', { exact: true }).waitFor()
    await visitor.idle()
    await page.getByLabel('Dry socks', { exact: true }).check()
    await page.getByLabel('Remove Toothbrush').click()
    expect(await page.evaluate("document.activeElement.getAttribute('aria-label')")).toBe('Add to the list')
    await visitor.say('What is on my list?')
    await visitor.sees('Packed: Dry socks. Still to pack: Violin, Rain jacket, Passport, A good book.')
    await visitor.idle()
    await page.getByLabel('Passport', { exact: true }).check()
    await visitor.shot('shared-list')
    await expect.poll(() => stateOf(visitor)).toContain('"text":"Passport","packed":true')
    await page.reload()
    await page.getByLabel('Violin', { exact: true }).waitFor()
    expect(await page.getByLabel('Passport', { exact: true }).isChecked()).toBe(true)
    expect(visitor.complaints).toEqual([])
  })

  test('changes the list while a run goes on, and both changes stay', async () => {
    await using visitor = await Visitor.at(browser, slow.url)
    await visitor.suggest('Pack for three rainy days in Bergen')
    await visitor.page.getByRole('button', { name: 'Stop' }).waitFor()
    await visitor.page.getByLabel('Add to the list').fill('Violin')
    await visitor.page.keyboard.press('Enter')
    await visitor.page.getByLabel('Rain jacket', { exact: true }).waitFor()
    await visitor.idle()
    await visitor.page.getByLabel('Violin', { exact: true }).waitFor()
    await visitor.say('What is on my list?')
    await visitor.sees(/Still to pack: Rain jacket.*Violin/)
    expect(visitor.complaints).toEqual([])
  })

  test('stops a run, and goes on talking', async () => {
    await using visitor = await Visitor.at(browser, slow.url)
    await visitor.suggest('Tell me a long story')
    await visitor.sees(/Once a troupe/)
    await visitor.page.getByRole('button', { name: 'Stop' }).click()
    await visitor.sees('Stopped.')
    await visitor.idle()
    expect(await visitor.log()).not.toContain('the last town')
    await visitor.suggest('Long story')
    await visitor.page.getByRole('button', { name: 'Stop' }).waitFor()
    await visitor.page.keyboard.press('Escape')
    await visitor.page.getByText('Stopped.').nth(1).waitFor()
    await visitor.shot('stopped')
    await visitor.suggest('Weather')
    await visitor.sees(/It is .* in Lisbon/)
    expect(visitor.complaints).toEqual([])
  })

  test('reloads in the middle, and sees it go on to the end', async () => {
    await using steady = await AssistantProcess.start({ wordDelayMs: 14 })
    await using visitor = await Visitor.at(browser, steady.url)
    await visitor.suggest('Tell me a long story')
    await visitor.sees(/Once a troupe/)
    await visitor.page.reload()
    await visitor.sees(/Once a troupe/)
    await visitor.page.getByRole('button', { name: 'Stop' }).waitFor()
    await visitor.shot('reloaded-in-the-middle')
    await visitor.sees(/at least\.\)/)
    await visitor.idle()
    const log = await visitor.log()
    expect(log.match(/Once a troupe/g)).toHaveLength(1)
    expect(log.match(/Tell me a long story/g)).toHaveLength(1)
    expect(visitor.complaints).toEqual([])
  })

  test('comes back to old conversations in a list, and deletes one', async () => {
    await using fresh = await AssistantProcess.start()
    await using visitor = await Visitor.at(browser, fresh.url)
    const { page } = visitor
    await visitor.say('What’s the weather in Oslo?')
    await visitor.sees(/It is .* in Oslo/)
    await visitor.idle()
    await page.getByRole('button', { name: 'New conversation' }).first().click()
    await visitor.sees('What would you like to try?')
    await visitor.say('What’s the weather in Quito?')
    await visitor.sees(/It is .* in Quito/)
    await visitor.idle()
    const list = page.getByRole('navigation', { name: 'Conversations' })
    await list.getByText('What’s the weather in Oslo?').click()
    await visitor.sees(/It is .* in Oslo/)
    expect(await visitor.log()).not.toContain('Quito')
    await visitor.shot('threads')
    page.on('dialog', (dialog) => void dialog.accept())
    await list.getByText('What’s the weather in Oslo?').hover()
    await list.getByLabel('Delete What’s the weather in Oslo?').click()
    await visitor.sees('What would you like to try?')
    await list.getByText('Oslo').waitFor({ state: 'detached' })
    expect(await page.evaluate("document.activeElement.getAttribute('aria-label')")).toBe('Message')
    expect(await list.getByText('Quito').count()).toBe(1)
    expect(visitor.complaints).toEqual([])
  })

  test('looks into the inspector: timeline, agents, raw events; by keyboard', async () => {
    await using visitor = await visit()
    const { page } = visitor
    await visitor.suggest('Where in the code is defineTool?')
    await visitor.sees(/is declared here/)
    await visitor.idle()
    await page.getByRole('tab', { name: 'List' }).focus()
    await page.keyboard.press('ArrowRight')
    const run = page.getByRole('region', { name: 'Run 1' })
    await expect.poll(() => shown(run)).toMatch(/complete · [\d.]+ m?s · \d+ tokens in, \d+ out/)
    const names = await run.locator('.troupe-span-name').allInnerTexts()
    expect(names).toEqual([
      'RouterAgent',
      'codebase_investigator',
      'codebase_investigator',
      'search_files',
      'read_file',
      'complete_task',
    ])
    expect(await shown(run.locator('.troupe-span-time').first())).toMatch(/\d+ tok\s+\d/)
    await visitor.shot('timeline')
    const before = await shown(run)
    await page.keyboard.press('ArrowRight')
    await visitor.sees('gets transfers, and can transfer back')
    await visitor.shot('agents')
    await page.keyboard.press('ArrowRight')
    await page.getByLabel('Filter events').fill('SUBAGENT_')
    await expect.poll(() => page.locator('.events li').allInnerTexts()).toHaveLength(2)
    await visitor.shot('events')
    await page.reload()
    await page.getByRole('tab', { name: 'Timeline' }).click()
    await expect.poll(() => shown(run)).toBe(before)
    expect(visitor.complaints).toEqual([])
  })
})

describe('the page', () => {
  test.each(['light', 'dark'] as const)('fits a phone, %s', async (colorScheme) => {
    await using visitor = await visit({ width: 390, height: 844, colorScheme })
    const { page } = visitor
    await visitor.shot(`phone-welcome-${colorScheme}`)
    await visitor.suggest('Where in the code is defineTool?')
    await visitor.sees(/is declared here/)
    await visitor.idle()
    await visitor.suggest('Postcard')
    await page.getByRole('form', { name: 'Question' }).waitFor()
    await visitor.shot(`phone-${colorScheme}`)
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(390)
    await page.getByRole('button', { name: 'Open the panel' }).click()
    await page.getByRole('tab', { name: 'Timeline' }).click()
    await visitor.shot(`phone-timeline-${colorScheme}`)
    await page.keyboard.press('Escape')
    await page.getByRole('tab', { name: 'Timeline' }).waitFor({ state: 'hidden' })
    await page.getByRole('button', { name: 'Conversations' }).click()
    await visitor.shot(`phone-threads-${colorScheme}`)
    expect(visitor.complaints).toEqual([])
  })

  test('follows the conversation to its last line, whatever takes room from it', async () => {
    await using visitor = await visit({ height: 520 })
    const below = () =>
      visitor.page.getByRole('log').evaluate((log) => log.scrollHeight - log.scrollTop - log.clientHeight)
    await visitor.suggest('Where in the code is defineTool?')
    await visitor.sees(/is declared here/)
    await visitor.idle()
    await visitor.page.getByLabel('Suggestions').waitFor()
    await expect.poll(below).toBeLessThan(2)
    await visitor.page.getByLabel('Message').fill('one\ntwo\nthree\nfour')
    await expect.poll(below).toBeLessThan(2)
    expect(visitor.complaints).toEqual([])
  })

  test('is used without a mouse', async () => {
    await using visitor = await visit()
    const { page } = visitor
    await visitor.sees('What would you like to try?')
    await page.getByLabel('Suggestions').getByRole('button', { name: 'Send Ada a postcard' }).focus()
    await page.keyboard.press('Enter')
    await page.getByRole('button', { name: 'Allow' }).focus()
    await page.keyboard.press('Tab')
    await page.keyboard.press('Tab')
    await page.keyboard.press('Enter')
    await visitor.sees('The user refused this call.')
    await visitor.idle()
    expect(visitor.complaints).toEqual([])
  })
})

function stateOf({ page }: Visitor): Promise<string> {
  const { origin, hash } = new URL(page.url())
  return fetch(`${origin}/agent/threads/${hash.slice(2)}`).then((response) => response.text())
}
