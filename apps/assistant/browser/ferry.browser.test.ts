import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
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

/** A visitor whom the harbour has asked which ferry it is to be. */
async function asked(): Promise<Visitor> {
  const visitor = await Visitor.at(browser, app.url)
  await visitor.say('Book a ferry to Skarholm for three')
  await visitor.page.getByRole('form', { name: 'Question' }).waitFor()
  return visitor
}

test('the question of an MCP server is a form; its answer books, and the seats are told', async () => {
  await using visitor = await asked()
  const { page } = visitor
  await visitor.sees('Which ferry to Skarholm?')
  await visitor.shot('ferry-question')
  await page.getByRole('radio', { name: '13:40' }).check()
  await page.getByRole('button', { name: 'Answer', exact: true }).click()
  await visitor.sees('seat 1 of 3 is taken')
  await visitor.shot('ferry-progress')
  await visitor.sees('Booked: 3 on the ferry to Skarholm at 13:40.')
  await visitor.idle()
  await page.locator('.troupe-call summary', { hasText: 'ferries_book_ferry' }).click()
  await visitor.sees('seat 3 of 3 is taken')
  await visitor.shot('ferry-booked')
  expect(visitor.complaints).toEqual([])
})

test('a question that is not answered books nothing, and the conversation goes on', async () => {
  await using visitor = await asked()
  await visitor.page.getByRole('button', { name: 'Never mind' }).click()
  await visitor.sees('All right, the harbour has booked nothing.')
  await visitor.idle()
  await visitor.say('Which ferries go to Vitsund?')
  await visitor.sees(/09:30 to Vitsund/)
  expect(visitor.complaints).toEqual([])
})
