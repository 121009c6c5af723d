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

/** A visitor who is asked whether a postcard may be sent. */
async function asked(): Promise<Visitor> {
  const visitor = await Visitor.at(browser, app.url)
  await visitor.suggest('Send Ada a postcard from Lisbon')
  await visitor.page.getByRole('form', { name: 'Question' }).waitFor()
  return visitor
}

const postcards = ({ page }: Visitor) => page.locator('.postcard').allInnerTexts()

test('nothing is sent before it is allowed; then it is, once', async () => {
  await using visitor = await asked()
  await visitor.shot('approval')
  expect(await postcards(visitor)).toEqual([])
  await visitor.page.getByRole('button', { name: 'Allow', exact: true }).click()
  await visitor.sees('The postcard to Ada is in the post.')
  expect(await postcards(visitor)).toEqual([expect.stringContaining('Dear Ada, greetings from Lisbon.')])
  expect(await visitor.page.locator('.sent li').count()).toBe(1)
  await visitor.shot('postcard')
  expect(visitor.complaints).toEqual([])
})

test('what is to be sent can be edited first', async () => {
  await using visitor = await asked()
  await visitor.page.getByRole('button', { name: 'Edit' }).click()
  await visitor.page.getByLabel('to', { exact: true }).fill('Grace')
  await visitor.page.getByLabel('text', { exact: true }).fill('All is well.')
  await visitor.shot('approval-edited')
  await visitor.page.getByRole('button', { name: 'Allow with changes' }).click()
  await visitor.sees('The postcard to Grace is in the post.')
  expect(await postcards(visitor)).toEqual([expect.stringMatching(/^All is well\.\s[\s\S]*To Grace/)])
  expect(visitor.complaints).toEqual([])
})

test.each([
  ['Always in this chat', 'in this chat'],
  ['Always for this tool', 'in all chats'],
])('"%s" sends the next one without a question, until it is revoked', async (name, place) => {
  await using visitor = await asked()
  const { page } = visitor
  await page.getByRole('button', { name }).click()
  await visitor.sees('The postcard to Ada is in the post.')
  await visitor.idle()
  await visitor.suggest('Postcard')
  await page.locator('.postcard').nth(1).waitFor()
  await visitor.idle()
  await page.getByRole('tab', { name: 'Allowed' }).click()
  await visitor.shot('always-allowed')
  await page.getByRole('button', { name: `Revoke send_postcard ${place}` }).click()
  await visitor.sees('Nothing yet. A question before a call offers it.')
  await visitor.suggest('Postcard')
  await page.getByRole('form', { name: 'Question' }).waitFor()
  expect(visitor.complaints).toEqual([])
})

test('it can be refused', async () => {
  await using visitor = await asked()
  await visitor.page.getByRole('button', { name: 'Refuse' }).click()
  await visitor.sees('The user refused this call.')
  await visitor.idle()
  expect(await postcards(visitor)).toEqual([])
  expect(await visitor.page.locator('.sent li').count()).toBe(0)
  expect(visitor.complaints).toEqual([])
})

test('the question is still there after a reload, and elsewhere in the list until then', async () => {
  await using visitor = await asked()
  await visitor.page.reload()
  await visitor.page.getByRole('form', { name: 'Question' }).waitFor()
  expect(await visitor.page.getByLabel('Message').getAttribute('placeholder')).toContain('Answer the question')
  await visitor.sees('waits for you')
  await visitor.page.getByRole('button', { name: 'Allow', exact: true }).click()
  await visitor.sees('The postcard to Ada is in the post.')
  await visitor.idle()
  await visitor.page.reload()
  await visitor.sees('The postcard to Ada is in the post.')
  expect(await postcards(visitor)).toHaveLength(1)
  expect(visitor.complaints).toEqual([])
})

test.each(['SIGTERM', 'SIGKILL'] as const)(
  'and after the server was restarted (%s), with or without a reload',
  async (signal) => {
    await using reloading = await asked()
    await using staying = await asked()
    await app.restart(signal)
    await reloading.page.reload()
    await reloading.page.getByRole('form', { name: 'Question' }).waitFor()
    for (const visitor of [reloading, staying]) {
      await visitor.page.getByRole('button', { name: 'Allow', exact: true }).click()
      await visitor.sees('The postcard to Ada is in the post.')
      expect(await postcards(visitor)).toHaveLength(1)
    }
    expect(reloading.complaints).toEqual([])
  },
)
