import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { AssistantProcess } from './assistant.fixture.ts'
import { startChromium } from './chromium.fixture.ts'
import { shown, Visitor } from './visitor.fixture.ts'

let browser: Browser

beforeAll(async () => {
  browser = await startChromium()
})

afterAll(async () => {
  await browser?.close()
})

test('what is sent before the conversation has loaded goes out after that', async () => {
  await using app = await AssistantProcess.start()
  await using visitor = await Visitor.at(browser, app.url)
  await visitor.sees('What would you like to try?')
  const { promise: loaded, resolve: load } = Promise.withResolvers<void>()
  await visitor.page.route('**/history', async (route) => {
    await loaded
    await route.continue()
  })
  await visitor.page.reload()
  await visitor.say('What’s the weather in Oslo?')
  expect(await visitor.page.getByRole('log').count()).toBe(0)
  load()
  await visitor.sees(/It is .* in Oslo/)
  expect(await visitor.page.getByLabel('Message').inputValue()).toBe('')
  expect(visitor.complaints).toEqual([])
})

test('the list tells when a conversation that is not looked at has ended', async () => {
  await using app = await AssistantProcess.start({ wordDelayMs: 6 })
  await using visitor = await Visitor.at(browser, app.url)
  const list = visitor.page.getByRole('navigation', { name: 'Conversations' })
  await visitor.suggest('Tell me a long story')
  await visitor.sees(/Once a troupe/)
  await visitor.page.getByRole('button', { name: 'New conversation' }).first().click()
  await visitor.sees('What would you like to try?')
  await list.getByText('running').waitFor()
  await list.getByText('running').waitFor({ state: 'detached' })
  expect(await shown(list)).toContain('Tell me a long story')
  expect(visitor.complaints).toEqual([])
})

test('the timeline of a run grows while it goes on', async () => {
  await using app = await AssistantProcess.start({ wordDelayMs: 30 })
  await using visitor = await Visitor.at(browser, app.url)
  const { page } = visitor
  await visitor.say('What’s the weather in Oslo?')
  await visitor.sees(/It is .* in Oslo/)
  await visitor.idle()
  await visitor.suggest('Long story')
  await visitor.sees(/In the first town/)
  await page.reload()
  await page.getByRole('tab', { name: 'Timeline' }).click()
  const [run2, run1] = [page.getByRole('region', { name: 'Run 2' }), page.getByRole('region', { name: 'Run 1' })]
  await expect.poll(() => shown(run2)).toMatch(/running · [\d.]+ s/)
  await expect.poll(() => shown(run1)).toMatch(/tokens in/)
  await visitor.shot('timeline-live')
  const bar = await run2.locator('.troupe-span-bar').last().boundingBox()
  expect(bar?.width).toBeGreaterThan(100)
  await page.keyboard.press('Escape')
  await visitor.sees('Stopped.')
  expect(visitor.complaints).toEqual([])
})

test('a server that is gone is named, and talked to again when it is back', async () => {
  await using app = await AssistantProcess.start()
  await using visitor = await Visitor.at(browser, app.url)
  await visitor.say('What’s the weather in Oslo?')
  await visitor.sees(/It is .* in Oslo/)
  await visitor.idle()
  await app.end('SIGKILL')
  await visitor.page.getByRole('button', { name: 'New conversation' }).first().click()
  await visitor.sees('The server cannot be reached.')
  await visitor.shot('server-gone')
  await app.restart()
  await visitor.say('What’s the weather in Quito?')
  await visitor.sees(/It is .* in Quito/)
})

test('two pages on one conversation: one run at a time, one answer, and both see what came of it', async () => {
  await using app = await AssistantProcess.start({ wordDelayMs: 30 })
  await using first = await Visitor.at(browser, app.url)
  await first.suggest('Send Ada a postcard from Lisbon')
  await first.page.getByRole('form', { name: 'Question' }).waitFor()
  await using second = await Visitor.at(browser, app.url, { hash: new URL(first.page.url()).hash })
  await second.page.getByRole('form', { name: 'Question' }).waitFor()
  await first.page.getByRole('button', { name: 'Allow' }).click()
  await first.sees('The postcard to Ada is in the post.')
  await first.idle()
  await second.page.getByRole('button', { name: 'Refuse' }).click()
  await second.sees('The postcard to Ada is in the post.')
  expect(await second.page.locator('.postcard').count()).toBe(1)
  await first.suggest('Long story')
  await first.sees(/Once a troupe/)
  await second.say('Hello there')
  await second.sees('Another run is active in this conversation.')
  expect(await second.log()).not.toContain('HTTP')
  expect(first.complaints).toEqual([])
})

test('a page that was made dark is never light, not even before it can do anything', async () => {
  await using app = await AssistantProcess.start()
  await using visitor = await Visitor.at(browser, app.url)
  await visitor.page.getByRole('button', { name: 'Make the page dark', exact: true }).last().click()
  await visitor.page.locator('html[data-theme=dark]').waitFor()
  await visitor.page.route('**/assets/*.js', () => undefined)
  await visitor.page.reload({ waitUntil: 'commit' })
  const paper = () => visitor.page.evaluate('getComputedStyle(document.body).backgroundColor')
  await expect.poll(paper).toBe('rgb(22, 20, 18)')
  expect(visitor.complaints).toEqual([])
})

test('a long name of a model leaves room for the switches', async () => {
  const name = 'hf.co/somebody/a-model-with-a-very-long-name:70b-instruct-q4_K_M'
  await using app = await AssistantProcess.start({ model: `ollama:${name}` })
  await using visitor = await Visitor.at(browser, app.url, { width: 375, height: 667 })
  await visitor.sees(new RegExp(`${name} answers`))
  expect(await visitor.page.evaluate('document.documentElement.scrollWidth')).toBe(375)
  await visitor.page.getByRole('button', { name: 'Open the panel' }).click()
  await visitor.sees('Packing list')
  expect(visitor.complaints).toEqual([])
})
