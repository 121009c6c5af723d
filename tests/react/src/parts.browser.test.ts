import { mkdirSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { ScriptedTurn } from '@troupe/testkit'
import axe, { type AxeResults } from 'axe-core'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startChromium } from '../../../apps/assistant/browser/chromium.fixture.ts'
import { calls, type ServedDesk, serveDesk } from './served-desk.fixture.ts'
import { type ServedPage, servePage } from './served-page.fixture.ts'

const ARTIFACTS = fileURLToPath(new URL('../artifacts', import.meta.url))
mkdirSync(ARTIFACTS, { recursive: true })

let browser: Browser
let site: ServedPage

beforeAll(async () => {
  ;[browser, site] = await Promise.all([startChromium(), servePage('19')])
})

afterAll(async () => {
  await browser?.close()
  await site?.[Symbol.asyncDispose]()
})

interface Visit {
  readonly colorScheme?: 'light' | 'dark'
  readonly width?: number
  readonly at?: ServedPage
}

/** A visitor of the page, with an agent whose model follows a script. */
async function visit(turns: readonly ScriptedTurn[], { colorScheme = 'light', width = 1360, at = site }: Visit = {}) {
  const desk = await serveDesk(turns, { cors: { origins: [at.url] } })
  const context = await browser.newContext({ viewport: { width, height: 800 }, colorScheme, reducedMotion: 'reduce' })
  context.setDefaultTimeout(10_000)
  const errors: string[] = []
  const open = async (): Promise<Page> => {
    const page = await context.newPage()
    page.on('pageerror', ({ message }) => void errors.push(message))
    await page.goto(`${at.url}/?url=${encodeURIComponent(desk.url)}&thread=t1`)
    await page.getByRole('button', { name: 'Send' }).waitFor()
    return page
  }
  const page = await open()
  return {
    desk,
    page,
    open,
    errors,
    async [Symbol.asyncDispose]() {
      await context.close()
      await (desk as ServedDesk)[Symbol.asyncDispose]()
    },
  }
}

async function say(page: Page, text: string): Promise<void> {
  await page.getByLabel('Message', { exact: true }).fill(text)
  await page.keyboard.press('Enter')
}

const focused = (page: Page) =>
  page.evaluate("document.activeElement.getAttribute('aria-label') ?? document.activeElement.textContent")

/** What axe finds wrong. */
async function faults(page: Page): Promise<readonly string[]> {
  await page.evaluate(axe.source)
  const { violations } = (await page.evaluate('axe.run()')) as AxeResults
  return violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ target }) => target.join(' ')).join(', ')}`)
}

const TABLE = '# Title\n\n- one\n- two\n\n| a | b |\n|--|--|\n| 1 | `2` |\n\n> said\n\n```ts\nconst a = 1\n```'

test.each([
  ['light', 1360],
  ['dark', 1360],
  ['light', 375],
  ['dark', 375],
] as const)('everybody can read and reach everything, %s, %i wide', async (colorScheme, width) => {
  const turns = [TABLE, calls('book'), calls('pay', { amount: 7 }), 'Paid.']
  await using visitor = await visit(turns, { colorScheme, width })
  const { page } = visitor
  expect(await faults(page)).toEqual([])
  await say(page, 'Show me')
  await page.getByRole('button', { name: 'Answer again' }).waitFor()
  await page.getByRole('button', { name: 'Change this message' }).click()
  expect(await faults(page)).toEqual([])
  await page.keyboard.press('Escape')
  await say(page, 'Book')
  await page.getByRole('form', { name: 'Question' }).waitFor()
  expect(await faults(page)).toEqual([])
  await page.screenshot({ path: `${ARTIFACTS}/form-${width}-${colorScheme}.png` })
  await page.getByRole('radio', { name: 'evening' }).check()
  await page.getByLabel('People').fill('4')
  await page.getByRole('button', { name: 'Answer', exact: true }).click()
  await page.getByRole('button', { name: 'Allow', exact: true }).waitFor()
  await page.getByRole('button', { name: 'Edit' }).click()
  expect(await faults(page)).toEqual([])
  await page.screenshot({ path: `${ARTIFACTS}/approval-${width}-${colorScheme}.png` })
  expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(width)
  expect(visitor.errors).toEqual([])
})

test('the answer in a form is what its schema describes: an optional field that is empty is left out', async () => {
  await using visitor = await visit([calls('book'), 'See you.'])
  const { page } = visitor
  await say(page, 'Book')
  await page.getByRole('radio', { name: 'evening' }).check()
  await page.getByLabel('People').fill('4')
  await page.getByLabel('In the garden').check()
  await page.getByRole('button', { name: 'Answer', exact: true }).click()
  await page.getByText('See you.').first().waitFor()
  expect(visitor.desk.heard().at(-1)).toBe('tool: Booked: {"time":"evening","people":4,"garden":true}.')
  expect(await focused(page)).toBe('Message')
})

test('an answer that streams renders no other message again, however long the conversation is', async () => {
  const words = Array.from({ length: 40 }, (_, i) => `${i} `)
  const earlier = Array.from({ length: 30 }, (_, i) => `answer-${i} is short.`)
  await using visitor = await visit([...earlier, { text: ['streamed ', ...words] }])
  const { page } = visitor
  for (let i = 0; i < 30; i++) {
    await say(page, `question-${i} ?`)
    await page.getByText(`answer-${i} is short.`).first().waitFor()
    await page.getByRole('button', { name: 'Send' }).waitFor()
  }
  await page.evaluate('globalThis.renders = {}')
  await say(page, 'last ?')
  await page
    .getByText(/streamed .* 39/)
    .first()
    .waitFor()
  const renders = (await page.evaluate('globalThis.renders')) as Record<string, number>
  expect(Object.keys(renders).sort()).toEqual(['last', 'streamed'])
  expect(renders.streamed).toBeLessThan(42)
})

test('a screen reader hears each answer once and whole', async () => {
  await using visitor = await visit([{ text: ['One ', 'two ', 'three.'] }])
  const { page } = visitor
  await page.evaluate(`
    globalThis.said = []
    const status = document.querySelector('[role=status]')
    new MutationObserver(() => said.push(status.textContent)).observe(status, { childList: true, characterData: true, subtree: true })
  `)
  await say(page, 'Count')
  await page.getByRole('button', { name: 'Answer again' }).waitFor()
  expect(await page.evaluate('said')).toEqual(['Working', 'Desk: One two three.'])
})

describe('two pages of one browser', () => {
  test('show the same run, and have its question and its answer both', async () => {
    await using visitor = await visit([calls('pay', { amount: 7 }), 'Paid it.'])
    const { page, open } = visitor
    const other = await open()
    await say(page, 'Pay')
    await other.getByRole('form', { name: 'Question' }).waitFor()
    await other.getByRole('button', { name: 'Allow', exact: true }).click()
    await page.getByText('Paid it.').first().waitFor()
    await other.getByText('Paid it.').first().waitFor()
    expect(await page.getByRole('form', { name: 'Question' }).count()).toBe(0)
  })

  test('run a tool of the page once', async () => {
    await using visitor = await visit([calls('set_theme', { theme: 'dark' }), 'Dark it is.'])
    const { page, open } = visitor
    const other = await open()
    await say(page, 'Dark')
    await page.getByText('Dark it is.').first().waitFor()
    await other.getByText('Dark it is.').first().waitFor()
    const schemes = await Promise.all(
      [page, other].map((one) => one.evaluate('document.documentElement.style.colorScheme')),
    )
    expect(schemes.sort()).toEqual(['', 'dark'])
  })
})

test('a message is changed with the keyboard, and an answer made again', async () => {
  await using visitor = await visit(['One.', 'One else.', 'One again.'])
  const { page } = visitor
  await say(page, 'A')
  await page.getByText('One.', { exact: true }).first().waitFor()
  await page.getByRole('button', { name: 'Change this message' }).focus()
  await page.keyboard.press('Enter')
  expect(await focused(page)).toBe('Change this message')
  await page.keyboard.press('Control+A')
  await page.keyboard.type('B')
  await page.keyboard.press('Enter')
  await page.getByText('One else.').first().waitFor()
  expect(await focused(page)).toBe('Message')
  await page.getByRole('button', { name: 'Answer again' }).click()
  await page.getByText('One again.').first().waitFor()
  expect(await visitor.desk.stored('t1')).toEqual(['user: B', 'assistant: One again.'])
})

test('the list has the conversation from its first word on, and renames and deletes it', async () => {
  await using visitor = await visit([{ text: ['Long ', 'story'], hang: 'mid' }, 'One.'])
  const { page } = visitor
  const list = page.getByRole('navigation', { name: 'Conversations' })
  await say(page, 'Tell me a story')
  await list.getByText('Tell me a story').waitFor()
  await list.getByText('running').waitFor()
  await page.getByRole('button', { name: 'New conversation' }).click()
  await page.getByText('Hello').waitFor()
  await say(page, 'Another one')
  await list.getByText('Another one').waitFor()
  await list.getByRole('button', { name: 'Rename Tell me a story' }).click()
  await page.keyboard.press('Control+A')
  await page.keyboard.type('The story')
  await page.keyboard.press('Enter')
  await list.getByText('The story').click()
  await page.getByText('Long').first().waitFor()
  await page.keyboard.press('Escape')
  await page.getByText('Stopped.').waitFor()
  page.on('dialog', (dialog) => void dialog.accept())
  await list.getByRole('button', { name: 'Delete The story' }).click()
  await list.getByText('The story').waitFor({ state: 'detached' })
  expect(await list.getByText('Another one').count()).toBe(1)
})

test('a picture is attached, shown and sent', async () => {
  await using visitor = await visit(['A dot.'])
  const { page } = visitor
  const dot = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
  const file = { name: 'dot.png', mimeType: 'image/png', buffer: Buffer.from(dot, 'base64') }
  await page.locator('input[type=file]').setInputFiles(file)
  await page.getByRole('button', { name: 'Remove dot.png' }).waitFor()
  await say(page, 'What is it?')
  await page.getByRole('img', { name: 'dot.png' }).waitFor()
  await page.getByText('A dot.').first().waitFor()
  expect(visitor.desk.model.requests[0]?.messages[0]?.content).toMatchObject([
    { type: 'text', text: 'What is it?' },
    { type: 'file', mediaType: 'image/png', data: dot, name: 'dot.png' },
  ])
})

test('React 18 shows the same', async () => {
  await using old = await servePage('18')
  await using visitor = await visit([calls('pay', { amount: 7 }), 'Paid.'], { at: old })
  const { page } = visitor
  await say(page, 'Pay')
  await page.getByRole('button', { name: 'Allow', exact: true }).click()
  await page.getByText('Paid.', { exact: true }).first().waitFor()
  expect(visitor.errors).toEqual([])
})
