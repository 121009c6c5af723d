import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { AssistantProcess } from './assistant.fixture.ts'
import { startChromium } from './chromium.fixture.ts'
import { Visitor } from './visitor.fixture.ts'

let browser: Browser

beforeAll(async () => {
  browser = await startChromium()
})

afterAll(async () => {
  await browser?.close()
})

/** How often a text is on the page. */
const count = (log: string, text: string) => log.split(text).length - 1

test('a story goes on when its server was killed, and the page says so', async () => {
  await using app = await AssistantProcess.start({ wordDelayMs: 25 })
  await using visitor = await Visitor.at(browser, app.url)
  await visitor.suggest('Tell me a long story')
  await visitor.sees(/In the first town/)
  await app.crash()
  await visitor.sees('The server was stopped here. The run went on.')
  await visitor.sees(/In the third town/)
  await visitor.shot('continued')
  await visitor.idle()
  const log = await visitor.log()
  expect([count(log, 'Once a troupe'), count(log, 'In the first town'), count(log, 'was stopped here')]).toEqual([
    1, 1, 1,
  ])
  await visitor.page.reload()
  await visitor.sees(/In the third town/)
  expect(await visitor.log()).toBe(log)
})

test('a page that is loaded after its server was killed offers to go on', async () => {
  await using app = await AssistantProcess.start({ wordDelayMs: 25, lostRuns: 'ask' })
  await using visitor = await Visitor.at(browser, app.url)
  await visitor.suggest('Tell me a long story')
  await visitor.sees(/In the first town/)
  await app.crash()
  await visitor.page.reload()
  await visitor.sees('The server of this run is gone. The run can be continued.')
  await visitor.page.getByRole('navigation', { name: 'Conversations' }).getByText('broke off').waitFor()
  await visitor.shot('broke-off')
  await visitor.page.getByRole('button', { name: 'Continue' }).click()
  await visitor.sees(/In the third town/)
  await visitor.idle()
  const log = await visitor.log()
  expect([count(log, 'Once a troupe'), count(log, 'can be continued')]).toEqual([1, 0])
  expect(await visitor.page.getByRole('button', { name: 'Continue' }).count()).toBe(0)
})
